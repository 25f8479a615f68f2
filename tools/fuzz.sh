#!/usr/bin/env bash
# Builds a fuzz target with clang and runs it on its corpus.
#
# usage: tools/fuzz.sh TARGET [SECONDS]
#   TARGET    package, checkpoint, npz, data or import (test/fuzz/targets.h)
#   SECONDS   how long to run (default: 600)
#
# New inputs go to build/fuzz/corpus/TARGET, failing inputs to build/fuzz/. Copy
# inputs that are worth keeping to test/fuzz/TARGET.
source "$(dirname "$0")/common.sh"

target=${1:-}
case "$target" in
  package | checkpoint | npz | data) compiler=OFF ;;
  import) compiler=ON ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    [ "$target" = --help ] && exit 0 || exit 2
    ;;
esac
clang=$(command -v clang-22 || command -v clang || true)
[ -n "$clang" ] || { echo "fuzz.sh: error: needs clang (apt-get install clang-22 libclang-rt-22-dev libomp-22-dev)" >&2; exit 1; }

build=$build/fuzz-$compiler
step "Configuring" configure -DMPC_FUZZ=ON -DMPC_BUILD_COMPILER=$compiler \
  -DMPC_SANITIZE=address,undefined "-DCMAKE_C_COMPILER=$clang" \
  "-DCMAKE_CXX_COMPILER=${clang/clang/clang++}" \
  -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1
step "Building" cmake --build "$build" --target "mpc-fuzz-$target"
mkdir -p "$build/corpus/$target"
cd "$build"
step "Fuzzing" "bin/mpc-fuzz-$target" -max_total_time="${2:-600}" -rss_limit_mb=2048 \
  -max_len=65536 -print_final_stats=1 "corpus/$target" "$root/test/fuzz/$target"
