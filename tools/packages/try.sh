#!/usr/bin/env bash
# Runs in the root folder of a minimal Debian (tools/package.sh --test): installs the
# packages in /tmp/mpc, trains a model with the program and from C, removes the packages,
# and fails if anything is left.
set -euo pipefail
cd /tmp/mpc
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
apt=(apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0)

# LLVM 22 is among the security updates.
. /etc/os-release
grep -rqs "$VERSION_CODENAME-security" /etc/apt/sources.list /etc/apt/sources.list.d \
  || echo "deb http://deb.debian.org/debian-security $VERSION_CODENAME-security main" \
    > /etc/apt/sources.list.d/security.list
"${apt[@]}" update
"${apt[@]}" install gcc libc6-dev cmake make pkg-config unzip > /dev/null

# Everything but what apt keeps about packages and what programs write at run time.
list_files() {
  find / -xdev \( -path /tmp -o -path /proc -o -path /var/cache -o -path /var/log \
    -o -path /var/lib/apt -o -path /var/lib/dpkg \) -prune -o -print | sort
}
list_files > before

"${apt[@]}" install ./*.deb > /dev/null
names=$(for package in ./*.deb; do dpkg-deb -f "$package" Package; done)
echo "installed:" $names

mpc compile digits/mlp.onnx --precision=bf16 --batch=64 -o mlp.mpc
mpc train mlp.mpc --data digits/digits-train.npz --eval-data digits/digits-test.npz \
  --epochs=30 --checkpoint-dir=run 2>&1 | tail -n 2
mpc export mlp.mpc --checkpoint=run --model digits/mlp.onnx -o trained.onnx
unzip -q digits/digits-train.npz

cc -std=c11 digits/train.c $(pkg-config --cflags --libs mpcrt) -o by-pkg-config
./by-pkg-config mlp.mpc images.npy labels.npy | tail -n 1
cc -std=c99 digits/trainer.c $(pkg-config --cflags --libs mpctrain) -o trainer
./trainer mlp.mpc digits/digits-train.npz digits/digits-test.npz | tail -n 1
cc -std=c99 digits/compile.c $(pkg-config --cflags --libs mpccompiler) -o compile
./compile digits/mlp.onnx | tail -n 1
cmake -S consumer -B by-cmake -DDIGITS_TRAIN=/tmp/mpc/digits/train.c \
  -DDIGITS_TRAINER=/tmp/mpc/digits/trainer.c -DDIGITS_COMPILE=/tmp/mpc/digits/compile.c \
  > /dev/null
cmake --build by-cmake > /dev/null
by-cmake/digits mlp.mpc images.npy labels.npy | tail -n 1
by-cmake/compile digits/mlp.onnx | tail -n 1

"${apt[@]}" purge $names > /dev/null
"${apt[@]}" autoremove --purge > /dev/null
list_files > after
diff before after || { echo "try.sh: error: files are left, or missing" >&2; exit 1; }
echo "removed: nothing is left"
