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
jobs=$(nproc)

# Programs of GoogleTest write a file each, so that their tests are counted
# one by one.
run_ctest() {
  (cd "$build" && GTEST_OUTPUT="xml:$results/gtest/" ctest -j "$jobs" \
    --output-on-failure --timeout 600 --output-junit "$results/ctest.xml") \
    | tail -n 40
}

run_lit() {
  local lit=/usr/lib/llvm-22/bin/lit
  timeout 15m "$lit" -j "$jobs" --no-progress-bar -v \
    --xunit-xml-output "$results/lit.xml" "$build/test" \
    | grep -v '^PASS:'
}

step "Configuring" configure
step "Building" cmake --build "$build"
rm -rf "$results"
mkdir -p "$results/gtest"
# A test that fails must not keep the others from running.
step "Running the programs that are tests" run_ctest || true
step "Running lit" run_lit || true
python3 "$root/tools/count_tests.py" "$results"
