#!/usr/bin/env bash
# Builds the Debian packages mpc-compiler, libmpcrt0, libmpctrain0, libmpcrt-dev,
# libmpccompiler0 and libmpccompiler-dev for the release of Debian that this machine runs,
# or the source tarball, in build/packages/.
#
# usage: tools/package.sh [--test[=ROOT]]
#        tools/package.sh --source
#   --test     also install the packages in a fresh Debian, compile and train a model
#              there, build C programs, and remove the packages; needs root, debootstrap
#              and a network. Everything happens in the folder ROOT, which may be the
#              root of a Debian that exists (default: a new one in build/packages/root);
#              in a chroot, mount ROOT/proc before
#   --source   write mpc-VERSION.tar.xz with the files of the last commit instead
#
# Builds of the same sources have the same bytes: files carry the time of the last commit,
# or SOURCE_DATE_EPOCH. DEBFULLNAME and DEBEMAIL name the maintainer. MPC_BUILD_DIR names
# another folder to build in than build/.
source "$(dirname "$0")/common.sh"

packages=$build/packages
action=build
for option in "$@"; do
  case "$option" in
    --test) action=test system= ;;
    --test=?*) action=test system=${option#*=} ;;
    --source) action=source ;;
    *) refuse_or_help "$option" 17 ;;
  esac
done

fail() {
  echo "package.sh: error: $*" >&2
  exit 1
}

need() {
  command -v "$1" > /dev/null || fail "'$1' is missing; apt-get install $2"
}

write_sources() {
  local version name
  git -C "$root" rev-parse HEAD > /dev/null 2>&1 \
    || fail "--source needs a checkout of the repository with git"
  git -C "$root" diff --quiet HEAD \
    || echo "    note: changes that are not committed are left out"
  version=$(git -C "$root" show HEAD:tools/mpc/Version.h | sed -n 's/.*MPC_VERSION "\(.*\)"/\1/p')
  name=mpc-$version
  # xz splits its input by the number of threads, which must not change the bytes.
  git -C "$root" archive --format=tar --prefix="$name/" HEAD \
    | XZ_OPT=${XZ_OPT:--9} xz --threads=1 > "$packages/$name.tar.xz.new" \
    && mv "$packages/$name.tar.xz.new" "$packages/$name.tar.xz" || return
  echo "    $packages/$name.tar.xz"
}

# Seconds of the last commit; a source tarball has them as the times of its files.
source_date() {
  git -C "$root" log -1 --format=%ct 2> /dev/null || stat -c %Y "$root/CHANGELOG.md"
}

write_packages() {
  local contact=()
  [ -z "${DEBEMAIL:-}" ] \
    || contact=(-D "CPACK_PACKAGE_CONTACT=${DEBFULLNAME:-mpc maintainers} <$DEBEMAIL>")
  rm -f "$packages"/*.deb
  # dpkg-shlibdeps names libllvm22, on which libmlir-22 depends, or not: by the order of
  # Perl's hashes.
  PERL_HASH_SEED=0 SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(source_date)} \
    cpack --config "$build/CPackConfig.cmake" -B "$packages" "${contact[@]}" > "$packages/cpack.log" 2>&1 \
    || { cat "$packages/cpack.log" >&2; return 1; }
  rm -rf "$packages/_CPack_Packages"
  ls -sh "$packages"/*.deb
}

# A minimal Debian of the release that this machine runs.
make_root() {
  local release mirror=http://deb.debian.org
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  debootstrap --variant=minbase "$release" "$system" "$mirror/debian" > "$packages/debootstrap.log" \
    || { tail "$packages/debootstrap.log" >&2; return 1; }
}

try_packages() {
  local inside=$system/tmp/mpc code=0
  rm -rf "$inside" && mkdir -p "$inside" || return
  cp -r "$packages"/*.deb "$root/runtime/examples/digits" "$root/test/runtime/Inputs/consumer" \
    "$root/tools/packages/try.sh" "$inside" || return
  # Mounts that disappear with the process, whatever happens. In a chroot, where that is
  # not possible, ROOT needs its /proc before.
  local mounts=(unshare --mount)
  [ ! -e "$system/proc/self" ] || mounts=()
  "${mounts[@]}" bash -c '[ -e "$0/proc/self" ] || mount -t proc proc "$0/proc" || exit
    exec chroot "$0" bash /tmp/mpc/try.sh' "$system" || code=$?
  rm -rf "$inside"
  return $code
}

mkdir -p "$packages"
if [ "$action" = source ]; then
  step "Writing the source tarball" write_sources
  exit
fi
need dpkg-shlibdeps dpkg-dev
need file file
if [ "$action" = test ]; then
  [ "$(id -u)" = 0 ] || fail "--test needs root, to run programs in another root folder"
  [ -n "$system" ] || { system=$packages/root && rm -rf "$system"; }
  [ -d "$system" ] || need debootstrap debootstrap
fi
step "Configuring" configure
step "Building" cmake --build "$build" --target mpc mpc_runtime_shared mpc_train_shared \
  mpc_compiler_shared mpc-documents
step "Writing packages" write_packages
[ "$action" = test ] || exit 0
[ -d "$system" ] || step "Installing Debian in $system" make_root
step "Trying the packages in $system" try_packages
