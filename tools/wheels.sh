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
# oneDNN is built from the sources of Debian 13, with only the primitives that mpc uses:
# Debian's library would be more than half of mpc-runtime.
source "$(dirname "$0")/common.sh"

wheels=$build/wheels
packages=(runtime compiler)
onednn=$wheels/onednn

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
  "$python" -m venv "$venv"
  "$venv/bin/pip" install -q --only-binary=:all: --require-hashes -r "$requirements"
  cp "$requirements" "$venv/requirements.txt"
}

# Debian's -O2 without options for the build machine: oneDNN compiles kernels at run time,
# for the processor it finds. Primitives that are not asked for are compiled, but nothing
# refers to them.
onednn_options=(
  -DCMAKE_BUILD_TYPE=Release -DONEDNN_ARCH_OPT_FLAGS=
  "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG -ffunction-sections -fdata-sections"
  -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--gc-sections
  -DONEDNN_CPU_RUNTIME=OMP -DONEDNN_GPU_RUNTIME=NONE -DONEDNN_BUILD_GRAPH=OFF
  "-DONEDNN_ENABLE_PRIMITIVE=CONVOLUTION;MATMUL;REORDER"
  -DONEDNN_BUILD_DOC=OFF -DONEDNN_BUILD_EXAMPLES=OFF -DONEDNN_BUILD_TESTS=OFF -DONEDNN_ENABLE_ITT_TASKS=OFF
)

# fetch_onednn: the sources of Debian 13, whichever Debian this is.
fetch_onednn() {
  local apt=(apt-get -qq -o Dir::Etc::sourcelist="$onednn/apt/sources.list"
    -o Dir::Etc::sourceparts=- -o Dir::State::lists="$onednn/apt/lists"
    -o Dir::Cache="$onednn/apt/cache" -o APT::Sandbox::User=)
  mkdir -p "$onednn/apt/lists/partial" "$onednn/apt/cache/archives/partial"
  echo "deb-src http://deb.debian.org/debian trixie main" > "$onednn/apt/sources.list"
  cd "$onednn/apt"
  "${apt[@]}" update && "${apt[@]}" --only-source --download-only source onednn \
    && dpkg-source -x onednn_*.dsc "$onednn/source" \
    `# A patch of Debian asks for what only an option that is off needs.` \
    && sed -i '/^find_package(spdlog REQUIRED)$/d' "$onednn/source/src/CMakeLists.txt"
}

compile_onednn() {
  cmake -S "$onednn/source" -B "$onednn/build" -G Ninja \
    -DCMAKE_INSTALL_PREFIX="$onednn" -DCMAKE_INSTALL_LIBDIR=lib \
    $(command -v ccache > /dev/null && echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache) \
    "${onednn_options[@]}" \
    && cmake --build "$onednn/build" && cmake --install "$onednn/build" --strip \
    && cp "$onednn/source/LICENSE" "$onednn/source/THIRD-PARTY-PROGRAMS" "$onednn"
}

build_onednn() {
  if [ "$(cat "$onednn/options" 2> /dev/null)" = "${onednn_options[*]}" ]; then
    echo "    $onednn is there"
    return
  fi
  rm -rf "$onednn"
  mkdir -p "$onednn"
  (fetch_onednn && compile_onednn) > "$wheels/onednn.log" 2>&1 \
    || { tail -n 30 "$wheels/onednn.log"; return 1; }
  rm -rf "$onednn"/{apt,source,build}
  echo "${onednn_options[*]}" > "$onednn/options"
}

# build_wheel VERSION PACKAGE
build_wheel() {
  # All Pythons share a build folder.
  "$wheels/venv-$1/bin/pip" wheel -q --no-deps --no-build-isolation \
    --wheel-dir "$wheels/plain-$1" -Cbuild-dir="$wheels/build-$2" \
    -Ccmake.define.DNNL_INCLUDE_DIR="$onednn/include" \
    -Ccmake.define.DNNL_LIBRARY="$onednn/lib/libdnnl.so" "$root/python/$2"
}

# Debian packages whose code is compiled into the wheels, and files of other licenses.
declare -A compiled_in=(
  [runtime]="libcli11-dev libflatbuffers-dev libtomlplusplus-dev libxxhash-dev nlohmann-json3-dev
    dnnl=$onednn/LICENSE onednn-third-party=$onednn/THIRD-PARTY-PROGRAMS"
  [compiler]="libcli11-dev libflatbuffers-dev liblld-22-dev libmlir-22-dev libtomlplusplus-dev
    libxxhash-dev nlohmann-json3-dev"
)

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
      ${compiled_in[$package]} || return
    mkdir -p "$wheels/repaired" && mv "$new"/*.whl "$wheels/repaired" || return
  done
  rm -rf "$new"
}

# Megabytes.
declare -A most=([runtime]=10 [compiler]=100)

check_wheels() {
  local venv=$wheels/venv-$1 wheel name size limit
  for wheel in "$wheels/repaired"/*.whl; do
    name=$(basename "$wheel")
    size=$(stat -c %s "$wheel")
    limit=${name#mpc_}
    limit=${most[${limit%%-*}]}
    echo "    $name: $(awk "BEGIN {printf \"%.1f\", $size / 1e6}") MB"
    if [ "$size" -gt "${limit}000000" ]; then
      echo "wheels: error: $name has more than $limit MB" >&2
      return 1
    fi
    "$venv/bin/auditwheel" show "$wheel" | tr '\n' ' ' | grep -o 'manylinux_[0-9_a-z]*' | head -n 1
    case "$wheel" in *abi3*) "$venv/bin/abi3audit" --strict "$wheel" || return ;; esac
  done
}

# try_wheels VERSION: trains the digits in an empty environment.
try_wheels() {
  local python venv=$wheels/try-$1 version
  version=$(sed -n 's/.*define MPC_VERSION "\(.*\)"/\1/p' "$root/tools/mpc/Version.h")
  python=$(find_python "$1") || { echo "    skipped: no Python $1"; return; }
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/pip" install -q --find-links "$wheels/repaired" mpc-runtime==$version mpc-compiler==$version
  (cd "$root/runtime/examples/digits" && "$venv/bin/python" -W ignore) << 'END'
import mpc
import numpy as np

program = mpc.compile("mlp.onnx", precision="bf16", batch=64)
data = dict(np.load("digits-train.npz"))
with mpc.Session(program) as session:
    for epoch in range(10):
        for i in range(0, 1472, 64):
            session.step({name: array[i : i + 64] for name, array in data.items()})
    print("   ", session.evaluate(dict(np.load("digits-test.npz"))))
END
  "$venv/bin/mpc" compile --help > /dev/null
  "$venv/bin/pip" uninstall -q -y mpc-compiler
  "$venv/bin/mpc" --version
}

case "${1:-}" in
  "" | --test) ;;
  *) refuse_or_help "$1" 10 ;;
esac
rm -rf "$wheels"/plain-* "$wheels/repaired"
step "Building oneDNN" build_onednn
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
