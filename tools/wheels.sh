#!/usr/bin/env bash
# Builds the Python wheels mpc-runtime and mpc-compiler, which contain the libraries that
# they need, in build/wheels/repaired.
#
# usage: tools/wheels.sh [--test]
#   --test   also install them in empty environments of all Pythons at hand, and train a
#            model there
#
# For Python 3.11, and for the stable ABI of 3.12 and later. Pythons are those on the path
# and those of pyenv.
#
# oneDNN and libzip are built from Debian's sources (they need dpkg-dev), with only what
# mpc uses of them: with Debian's libraries mpc-runtime had 17 MB.
source "$(dirname "$0")/common.sh"

wheels=$build/wheels
packages=(runtime compiler)
onednn=$wheels/onednn libzip=$wheels/libzip

# find_python VERSION: prints the path of a Python; fails if there is none.
find_python() {
  local candidate
  for candidate in "python$1" "$HOME/.pyenv/versions/$1".*/bin/python; do
    if "$candidate" -c 'import ensurepip, sysconfig, os
os.stat(sysconfig.get_path("include") + "/Python.h")' 2> /dev/null; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# prepare VERSION: an environment with what builds wheels.
prepare() {
  local venv=$wheels/venv-$1 requirements=$root/python/requirements-wheels.txt python
  if cmp -s "$requirements" "$venv/requirements.txt"; then
    echo "    $venv is there"
    return
  fi
  python=$(find_python "$1") || { echo "    no Python $1 with headers"; return; }
  rm -rf "$venv"
  "$python" -m venv "$venv" \
    && "$venv/bin/pip" install -q --only-binary=:all: --require-hashes -r "$requirements" \
    && cp "$requirements" "$venv/requirements.txt"
}

# fetch_source NAME SUITE: unpacks a source package of Debian in build/wheels/NAME/source.
fetch_source() {
  local folder=$wheels/$1/apt apt
  apt=(apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list"
    -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/lists"
    -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=)
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
  echo "deb-src http://deb.debian.org/debian $2 main" > "$folder/sources.list"
  cd "$folder"
  "${apt[@]}" update && "${apt[@]}" --only-source --download-only source "$1" \
    && dpkg-source --no-copy -x "$1"_*.dsc ../source
}

# Debian's patch asks for spdlog, which only an option that is off needs. Kernels for
# integers and narrow floating-point types are a third of the library; mpc calls it for f32
# and bf16 only.
patch_source() {
  [ "$1" = onednn ] || return 0
  local cpu=source/src/cpu narrow='[su][48]|s32|e8m0|f[48]_[a-z0-9]*'
  sed -i '/^find_package(spdlog REQUIRED)$/d' source/src/CMakeLists.txt \
    && sed -i /x8s8s32x/d $cpu/cpu_convolution_list.cpp $cpu/matmul/cpu_matmul_list.cpp \
    && sed -Ei "/^ *\{\{.*\b($narrow)\b/d" $cpu/reorder/cpu_reorder.cpp \
    && rm source/src/common/gemm.cpp \
    && echo '{ global: dnnl_*; local: *; };' > exports.map
}

# build_library NAME SUITE OPTION...: a library of a source package, in build/wheels/NAME.
build_library() {
  local name=$1 suite=$2 folder=$wheels/$1 how
  shift 2
  how="$suite $* $(declare -f patch_source)"
  if [ "$(cat "$folder/how" 2> /dev/null)" = "$how" ]; then
    echo "    $folder is there"
    return
  fi
  rm -rf "$folder"
  mkdir -p "$folder"
  (fetch_source "$name" "$suite" && cd "$folder" && patch_source "$name" \
    && cmake -S source -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_INSTALL_PREFIX="$folder" -DCMAKE_INSTALL_LIBDIR=lib \
      $(command -v ccache > /dev/null && echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache) "$@" \
    && cmake --build build && cmake --install build \
    && find source -maxdepth 1 \( -name LICENSE -o -name THIRD-PARTY-PROGRAMS \) \
      -exec cp {} . \;) > "$folder.log" 2>&1 || { tail -n 30 "$folder.log"; return 1; }
  rm -rf "$folder"/{apt,source,build}
  echo "$how" > "$folder/how"
}

# Debian 12's source package of oneDNN has an older version. Without options for the build
# machine: oneDNN compiles kernels at run time, for the processor it finds. Primitives that
# are not asked for are compiled, but nothing refers to them.
build_onednn() {
  build_library onednn trixie \
    "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG -ffunction-sections -fdata-sections" \
    -DCMAKE_SHARED_LINKER_FLAGS="-Wl,--gc-sections,--version-script=$onednn/exports.map,--strip-all" \
    -DONEDNN_ARCH_OPT_FLAGS= -DONEDNN_CPU_RUNTIME=OMP -DONEDNN_GPU_RUNTIME=NONE -DONEDNN_BUILD_GRAPH=OFF \
    "-DONEDNN_ENABLE_PRIMITIVE=CONVOLUTION;MATMUL;REORDER" -DONEDNN_ENABLE_ITT_TASKS=OFF \
    -DONEDNN_BUILD_EXAMPLES=OFF -DONEDNN_BUILD_TESTS=OFF
}

# Without encryption, for which Debian's needs OpenSSL, and a function of glibc 2.36.
build_libzip() {
  build_library libzip bookworm -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DENABLE_{COMMONCRYPTO,GNUTLS,MBEDTLS,OPENSSL,BZIP2,LZMA}=OFF \
    -DBUILD_{TOOLS,REGRESS,EXAMPLES,DOC}=OFF -DHAVE_ARC4RANDOM=OFF
}

# build_wheel VERSION PACKAGE
build_wheel() {
  # All Pythons share a build folder.
  "$wheels/venv-$1/bin/pip" wheel -q --no-deps --no-build-isolation \
    --wheel-dir "$wheels/plain-$1" -Cbuild-dir="$wheels/build-$2" \
    -Ccmake.define.DNNL_INCLUDE_DIR="$onednn/include" \
    -Ccmake.define.DNNL_LIBRARY="$onednn/lib/libdnnl.so" \
    -Ccmake.define.LIBZIP_INCLUDE_DIR="$libzip/include" \
    -Ccmake.define.LIBZIP_LIBRARY="$libzip/lib/libzip.a;z" "$root/python/$2"
}

# What is compiled into both wheels, or built above: Debian packages and licenses. The wheel
# of mpc-compiler has all that the command needs, and LLVM.
compiled_in=(libcli11-dev libflatbuffers-dev libtomlplusplus-dev libxxhash-dev nlohmann-json3-dev
  libzip="$libzip/LICENSE" dnnl="$onednn/LICENSE"
  onednn-third-party="$onednn/THIRD-PARTY-PROGRAMS")
declare -A also_compiled_in=([runtime]= [compiler]="libmlir-22-dev liblld-22-dev")

# repair VERSION: puts libraries into the wheels, and the licenses of what is in them.
repair() {
  local wheel package venv=$wheels/venv-$1 new=$wheels/new-$1
  for package in "${packages[@]}"; do
    rm -rf "$new"
    # mpc-compiler finds this library in mpc-runtime.
    PATH=$venv/bin:$PATH LD_LIBRARY_PATH=$onednn/lib auditwheel repair \
      --exclude libmpcrt.so.0 --wheel-dir "$new" "$wheels/plain-$1/mpc_$package"-*.whl \
      > "$wheels/repair.log" 2>&1 || { cat "$wheels/repair.log"; return 1; }
    "$venv/bin/python" "$root/python/add_licenses.py" "$new"/*.whl "$root/LICENSE" \
      nanobind="$(echo "$venv"/lib/python*/site-packages/nanobind-*.dist-info/licenses/LICENSE)" \
      "${compiled_in[@]}" ${also_compiled_in[$package]} || return
    mkdir -p "$wheels/repaired" && mv "$new"/*.whl "$wheels/repaired" || return
  done
  rm -rf "$new"
}

# Megabytes.
declare -A most=([runtime]=10 [compiler]=100)

check_wheels() {
  local package wheel size
  for package in "${packages[@]}"; do
    for wheel in "$wheels/repaired/mpc_$package"-*.whl; do
      size=$(stat -c %s "$wheel")
      echo "    $(basename "$wheel"): $(awk "BEGIN {printf \"%.1f\", $size / 1e6}") MB"
      if [ "$size" -gt "${most[$package]}000000" ]; then
        echo "wheels: error: mpc-$package may have ${most[$package]} MB" >&2
        return 1
      fi
      audit "$wheels/venv-$1" "$wheel" || return
      case "$wheel" in *abi3*) "$wheels/venv-$1/bin/abi3audit" --strict -v "$wheel" || return ;; esac
    done
  done
}

# audit VENV WHEEL: fails if a wheel needs another library than those that are everywhere
# and libmpcrt of mpc-runtime, or a processor with more than the oldest x86-64.
audit() {
  "$1/bin/auditwheel" show --json "$2" | "$1/bin/python" -c '
import json, sys
found = json.load(sys.stdin)
others = set(found["external_libs"]) - {"libmpcrt.so.0"}
if others or found["unsupported_isa"] or not found["sym_tag"].startswith("manylinux"):
    sys.exit(f"wheels: error: auditwheel found {found}")
print("    auditwheel:", found["sym_tag"])'
}

# try_wheels VERSION: trains the digits in an empty environment, and without AVX-512, too.
try_wheels() {
  local python venv=$wheels/try-$1 version model isa
  version=$(sed -n 's/.*define MPC_VERSION "\(.*\)"/\1/p' "$root/tools/mpc/Version.h")
  python=$(find_python "$1") || { echo "    skipped: no Python $1"; return; }
  rm -rf "$venv"
  "$python" -m venv "$venv" && "$venv/bin/pip" install -q --find-links "$wheels/repaired" \
    mpc-runtime==$version mpc-compiler==$version || return
  for model in mlp cnn; do
    for isa in "" AVX2; do
      MPC_MAX_CPU_ISA=$isa train_digits "$venv" $model || return
    done
  done
  "$venv/bin/mpc" compile --help > /dev/null && "$venv/bin/pip" uninstall -q -y mpc-compiler \
    && "$venv/bin/mpc" --version
}

# train_digits VENV MODEL
train_digits() {
  (cd "$root/runtime/examples/digits" && "$1/bin/python" -W ignore - $2.onnx) << 'END'
import sys, mpc, numpy as np

program = mpc.compile(sys.argv[1], precision="bf16", batch=64)
data = dict(np.load("digits-train.npz"))
with mpc.Session(program) as session:
    for i in range(0, 23 * 64 * 10, 64):
        session.step({name: array[i % 1472 : i % 1472 + 64] for name, array in data.items()})
    result = session.evaluate(dict(np.load("digits-test.npz")))
print("   ", sys.argv[1], result)
sys.exit(result.accuracy < 0.9)
END
}

case "${1:-}" in
  "" | --test) ;;
  *) refuse_or_help "$1" 10 ;;
esac
command -v dpkg-source > /dev/null \
  || { echo "wheels: error: 'dpkg-source' is missing; apt-get install dpkg-dev" >&2; exit 1; }
rm -rf "$wheels"/plain-* "$wheels/repaired"
step "Building oneDNN" build_onednn
step "Building libzip" build_libzip
built=
for version in 3.11 3.12; do
  step "Preparing Python $version" prepare "$version"
  [ -d "$wheels/venv-$version" ] || continue
  for package in "${packages[@]}"; do
    step "Building mpc-$package for Python $version" build_wheel "$version" "$package"
  done
  step "Adding libraries" repair "$version"
  built=$version
done
[ -n "$built" ] || { echo "wheels: error: there is no Python 3.11 or 3.12 with its headers" >&2; exit 1; }
step "Checking" check_wheels "$built"
if [ "${1:-}" = --test ]; then
  for version in 3.11 3.12 3.13 3.14; do
    step "Training with Python $version" try_wheels "$version"
  done
fi
