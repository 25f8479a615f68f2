#!/usr/bin/env bash
# Builds everything and runs every test. The last line is "N passed, N failed".
#
# usage: tools/test.sh [--no-setup]
#   --no-setup   do not look for missing packages
#
# MPC_BUILD_DIR names another folder to build in than build/.
source "$(dirname "$0")/common.sh"

case "${1:-}" in
  "") step "Installing what is missing" "$root/tools/setup.sh" ;;
  --no-setup) ;;
  *)
    sed -n '2,7s/^# \{0,1\}//p' "$0"
    [ "$1" = --help ] && exit 0 || exit 2
    ;;
esac

results=$build/test-results
sanitized=$build/sanitized
jobs=$(nproc)

# run_ctest BUILD RESULTS [OPTION...]. Programs of GoogleTest write a file each,
# so that their tests are counted one by one.
run_ctest() {
  local build=$1 results=$2
  shift 2
  (cd "$build" && GTEST_OUTPUT="xml:$results/gtest/" ctest -j "$jobs" \
    --output-on-failure --timeout 600 --output-junit "$results/ctest.xml" "$@") \
    | tail -n 40
}

run_lit() {
  local lit=/usr/lib/llvm-22/bin/lit
  timeout 15m "$lit" -j "$jobs" --no-progress-bar -v \
    --xunit-xml-output "$results/lit.xml" "$build/test" \
    | grep -v '^PASS:'
}

# What reads foreign bytes and what computes, built again with sanitizers: the
# runtime in a folder of its own, the importer in a program beside the others.
# Simulated GPU kernels are compiled with them too.
sanitized_tests=(mpc-cuda-test mpc-device-sim-test mpc-fake-cuda-test
  mpc-gpu-programs-test mpc-kernels-test mpc-npz-test mpc-runtime-cuda-test
  mpc-runtime-test mpc-status-test)

build_sanitized() {
  build=$sanitized configure -DMPC_BUILD_COMPILER=OFF \
    -DMPC_SANITIZE=address,undefined \
    -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
    && cmake --build "$sanitized" --target "${sanitized_tests[@]}" \
    && cmake --build "$build" --target mpc-import-sanitized-test mpc-sanitized-programs
}

run_sanitized() {
  GTEST_OUTPUT="xml:$results/sanitized/importer.xml" \
    timeout 10m "$build/bin/mpc-import-sanitized-test" --gtest_brief=1 \
    | tail -n 40 || true
  MPC_GPU_PROGRAMS=$build/test/cuda/sanitized \
    run_ctest "$sanitized" "$results/sanitized" \
    -R "^($(IFS='|' && echo "${sanitized_tests[*]}"))\$"
}

step "Configuring" configure
step "Building" cmake --build "$build"
step "Building with sanitizers" build_sanitized
rm -rf "$results"
mkdir -p "$results/gtest" "$results/sanitized/gtest"
# A test that fails must not keep the others from running.
step "Running the programs that are tests" run_ctest "$build" "$results" || true
step "Running those with sanitizers" run_sanitized || true
step "Running lit" run_lit || true
python3 "$root/tools/count_tests.py" "$results"
