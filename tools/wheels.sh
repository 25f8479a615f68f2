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
source "$(dirname "$0")/common.sh"

wheels=$build/wheels
packages=(runtime compiler)

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

# build_wheel VERSION PACKAGE
build_wheel() {
  # All Pythons share a build folder.
  "$wheels/venv-$1/bin/pip" wheel -q --no-deps --no-build-isolation \
    --wheel-dir "$wheels/plain-$1" -Cbuild-dir="$wheels/build-$2" "$root/python/$2"
}

# repair VERSION: puts libraries into the wheels, and checks them.
repair() {
  local wheel
  for wheel in "$wheels/plain-$1"/*.whl; do
    # mpc-compiler finds this library in mpc-runtime.
    PATH=$wheels/venv-$1/bin:$PATH auditwheel repair --exclude libmpcrt.so.0 \
      --wheel-dir "$wheels/repaired" "$wheel" > "$wheels/repair.log" 2>&1 \
      || { cat "$wheels/repair.log"; return 1; }
  done
}

check_wheels() {
  local venv=$wheels/venv-$1 wheel
  for wheel in "$wheels/repaired"/*.whl; do
    printf '    %s: %s MB\n' "$(basename "$wheel")" \
      "$(stat -c %s "$wheel" | awk '{printf "%.1f", $1 / 1e6}')"
    "$venv/bin/auditwheel" show "$wheel" | tr '\n' ' ' | grep -o 'manylinux_[0-9_a-z]*' | head -n 1
    case "$wheel" in *abi3*) "$venv/bin/abi3audit" --strict "$wheel" ;; esac
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
