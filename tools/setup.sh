#!/usr/bin/env bash
# Installs missing packages that are needed to build and test mpc: those of Debian and,
# as Python packages, those that Debian lacks: Apache Arrow (pyarrow in build/arrow), and
# what mpc's own Python packages need (nanobind and others in build/python-venv).
#
# usage: tools/setup.sh [--python]
#   --python   also create a virtual environment in build/venv, needed only to
#              recreate the example models and data and to compare with
#              PyTorch
source "$(dirname "$0")/common.sh"

packages=(
  cmake ninja-build g++ ccache pkg-config python3 python3-jsonschema
  xz-utils
  llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools lld-22 liblld-22-dev
  libonnx-dev libprotobuf-dev protobuf-compiler
  libflatbuffers-dev flatbuffers-compiler
  libdnnl-dev libxxhash-dev libzip-dev zlib1g-dev
  libjpeg-dev libpng-dev
  libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libgtest-dev
  # Both kinds of MPI, for tests.
  openmpi-bin mpich
)

# Pythons other than Debian's bring their headers.
python3 -c 'import os, sysconfig
os.stat(sysconfig.get_path("include") + "/Python.h")' 2> /dev/null || packages+=(python3-dev)

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo > /dev/null; then
    sudo "$@"
  else
    echo "setup: error: installing packages needs root or sudo: $*" >&2
    return 1
  fi
}

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do
    # A removed package is still known to dpkg, but not installed.
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] \
      || missing+=("$package")
  done
  if [ ${#missing[@]} = 0 ]; then
    echo "    all ${#packages[@]} packages are there"
    return
  fi
  echo "    installing: ${missing[*]}"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q)
  # Package lists are empty on a fresh machine and may be outdated on an old one.
  as_root "${apt[@]}" update
  as_root "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# make_venv FOLDER: a new virtual environment.
make_venv() {
  if ! python3 -c 'import ensurepip' 2> /dev/null; then
    packages=(python3-venv)
    install_packages
  fi
  python3 -m venv "$1"
}

# mpc reads no Parquet and Arrow files without it, but has everything else.
install_arrow() {
  local venv=$build/arrow requirements=$root/tools/arrow/requirements.txt
  if pkg-config --exists arrow parquet 2> /dev/null; then
    echo "    the system has it"
  elif cmp -s "$requirements" "$venv/requirements.txt"; then
    echo "    $venv is there"
  elif make_venv "$venv" \
    && "$venv/bin/pip" install -q --only-binary=:all: --require-hashes -r "$requirements"; then
    cp "$requirements" "$venv/requirements.txt"
  else
    echo "    cannot install pyarrow: mpc will not read Parquet and Arrow files"
  fi
}

# The Python packages are not built without it.
install_nanobind() {
  local venv=$build/python-venv requirements=$root/python/requirements.txt
  if cmp -s "$requirements" "$venv/requirements.txt"; then
    echo "    $venv is there"
  elif make_venv "$venv" \
    && "$venv/bin/pip" install -q --only-binary=:all: --require-hashes -r "$requirements"; then
    cp "$requirements" "$venv/requirements.txt"
  else
    echo "    cannot install nanobind: the Python packages will not be built"
  fi
}

make_python_environment() {
  local venv=$build/venv tools=$root/tools
  if cat "$tools"/requirements*.txt | cmp -s - "$venv/requirements.txt"; then
    echo "    $venv is there"
    return
  fi
  make_venv "$venv"
  "$venv/bin/pip" install -q --require-hashes -r "$tools/requirements.txt"
  "$venv/bin/pip" install -q -r "$tools/requirements-torch.txt"
  cat "$tools"/requirements*.txt > "$venv/requirements.txt"
}

if ! command -v apt-get > /dev/null; then
  echo "setup: error: this is not Debian; install yourself: ${packages[*]}" >&2
  exit 1
fi
case "${1:-}" in
  "")
    step "Looking for packages" install_packages
    step "Looking for Apache Arrow" install_arrow
    step "Looking for nanobind" install_nanobind
    ;;
  --python)
    step "Looking for packages" install_packages
    step "Looking for Apache Arrow" install_arrow
    step "Looking for nanobind" install_nanobind
    step "Making a Python environment" make_python_environment
    ;;
  *)
    sed -n '2,10s/^# \{0,1\}//p' "$0"
    [ "$1" = --help ] || exit 2
    ;;
esac
