#!/usr/bin/env bash
# Builds everything and runs every test. The last line is "N passed, N failed".
#
# usage: tools/test.sh [--no-setup] [--long]
#        tools/test.sh --filter=REGEX
#        tools/test.sh --op=NAME
#   --no-setup   do not look for missing packages
#   --long       run everything, also at each level of instructions, not a
#                selection, compare 20 samples of each op's gradients, not two,
#                round all 2^32 floats to 16 bit, add up 10^9 numbers, and train
#                2,000 random deep graphs for a step (hours)
#   --filter     run what matches, and build only what is needed: paths below
#                test/ (tools/mpc/train) and programs (mpc-npz-test)
#   --op         run all tests of an ONNX op (Gather) or of an op of the train
#                dialect (train.matmul), wherever they are: lit tests, rows of
#                tables, models, goldens, and ONNX's own where its package is
#
# MPC_BUILD_DIR names another folder to build in than build/, MPC_MAX_CPU_ISA
# the highest level of instructions (test/README.md).
source "$(dirname "$0")/common.sh"

setup=yes long= filter= op=
for option in "$@"; do
  case "$option" in
    --no-setup) setup= ;;
    --long) long=yes ;;
    --filter=?*) setup= filter=${option#*=} ;;
    --op=?*) setup= op=${option#*=} ;;
    *) refuse_or_help "$option" 20 ;;
  esac
done
[ -z "$setup" ] || step "Installing what is missing" "$root/tools/setup.sh"

[ -z "$long" ] || export MPC_GRADIENT_SAMPLES=20 MPC_EVERY_FLOAT=1 MPC_LONG=1

results=$build/test-results
sanitized=$build/sanitized
jobs=$(nproc)

# run_ctest BUILD RESULTS [OPTION...]: each GoogleTest program also writes its own
# file, so that its tests are counted individually.
run_ctest() {
  local build=$1 results=$2
  shift 2
  (cd "$build" && GTEST_OUTPUT="xml:$results/gtest/" ctest -j "$jobs" \
    --output-on-failure --timeout 1200 --output-junit "$results/ctest.xml" "$@") \
    | tail -n 40
}

# Programs of many independent cases, most of which take minutes.
many_cases='mpc-(codegen|gpu-programs|gradients|kernels|models)-test'

# Which half of these cases, and of others that read MPC_HALF, runs without --long, and
# which third of the tests with sanitizers: it depends on the commit.
if [ -z "$long" ]; then
  commit=$(git -C "$root" rev-parse HEAD 2> /dev/null) || commit=000
  half=$((16#${commit: -1} % 2)) checked=$((16#${commit: -3:2} % 3))
fi

# run_programs BUILD RESULTS [TEST...]: all programs that are tests, or these.
run_programs() {
  local build=$1 results=$2 names=. many=$many_cases
  shift 2
  if [ $# -gt 0 ]; then
    names="^($(IFS='|' && echo "$*"))\$"
    many="($(printf '%s\n' "$@" | grep -E "^$many_cases\$" | paste -sd '|'))"
  fi
  if [ -n "$long" ]; then
    run_ctest "$build" "$results" -R "$names"
    return
  fi
  mkdir -p "$results/parts/gtest"
  GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=$half \
    run_ctest "$build" "$results/parts" -R "^$many\$" || true
  run_ctest "$build" "$results" -R "$names" -E "^$many_cases\$"
}

# run_lit RESULTS [OPTION...]
run_lit() {
  local lit=/usr/lib/llvm-22/bin/lit results=$1
  shift
  [ -n "$long" ] || local -x MPC_HALF=$half
  timeout 25m "$lit" -j "$jobs" --no-progress-bar -v \
    --xunit-xml-output "$results/lit.xml" "$@" "$build/test" \
    | grep -v '^PASS:'
}

# The levels of kernels/cpu_isa.h below the highest one that this machine uses.
lower_levels() {
  local features
  features=$("$build/bin/mpc" doctor --json)
  case "$features" in *'"avx512bw"'*) echo AVX2 ;; esac
  case "$features" in *'"avx512_bf16"'*) echo AVX512_CORE ;; esac
  case "$features" in *'"amx_bf16"'*) echo AVX512_CORE_BF16 ;; esac
}

# run_level LEVEL SHARD: runs the tests that depend on CPU instructions, or all of
# them. Without --long, only a quarter of the tests of generated code, another one at
# each level. AMX, which AVX512_CORE_BF16 leaves out, changes the kernels of the
# library only.
run_level() {
  local -x MPC_MAX_CPU_ISA=$1
  local results=$results/levels/$1 programs='^mpc-kernels-test$' lit
  lit='goldens/(digits|transformers).test|tools/mpc/(all/cpu-levels|train/digits|compile/targets).test'
  [ -z "$long" ] || programs=. lit=.
  mkdir -p "$results/gtest"
  run_ctest "$build" "$results" -R "$programs" || true
  if [ -z "$long" ] && [ "$1" != AVX512_CORE_BF16 ]; then
    mkdir -p "$results/parts/gtest"
    GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=$2 \
      run_ctest "$build" "$results/parts" -R '^mpc-(codegen|models)-test$' || true
  fi
  run_lit "$results" --filter="$lit"
}

# Runs a program of test/bench that needs PyTorch (tools/setup.sh --python).
run_deep_sweep() {
  [ -d "$(echo "$build"/venv/lib/*/*/torch)" ] || { echo "    skipped: no PyTorch"; return; }
  "$build/venv/bin/python" "$root/test/bench/deep/deep_sweep.py" "$build/bin/mpc" \
    --jobs="$jobs" --results="$results/deep-sweep.jsonl" --junit="$results/deep-sweep.xml"
}

# What is built again with sanitizers: tests of code that reads untrusted input, and of
# code that computes, in a separate folder; the importer, as a program of its own; and
# kernels for simulated GPUs. One third is for the CPU, one the importer, one for GPUs.
# The test of mpc-status-test is called runtime-status.
sanitized_programs=() sanitized_tests=() sanitized_extras=()
if [ -n "$long" ] || [ "$checked" = 0 ]; then
  sanitized_programs+=(mpc-kernels-test mpc-npz-test mpc-runtime-test mpc-status-test)
  sanitized_tests+=(mpc-kernels-test mpc-npz-test mpc-runtime-test runtime-status)
fi
if [ -n "$long" ] || [ "$checked" = 1 ]; then
  sanitized_extras+=(mpc-import-sanitized-test)
fi
if [ -n "$long" ] || [ "$checked" = 2 ]; then
  gpu=(mpc-cuda-test mpc-device-sim-test mpc-fake-cuda-test mpc-gpu-programs-test
    mpc-runtime-cuda-test)
  sanitized_programs+=("${gpu[@]}")
  sanitized_tests+=("${gpu[@]}")
  sanitized_extras+=(mpc-sanitized-programs)
fi

build_sanitized() {
  if [ ${#sanitized_programs[@]} -gt 0 ]; then
    build=$sanitized configure -DMPC_BUILD_COMPILER=OFF \
      -DMPC_SANITIZE=address,undefined \
      -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
      && cmake --build "$sanitized" --target "${sanitized_programs[@]}" || return
  fi
  [ ${#sanitized_extras[@]} = 0 ] \
    || cmake --build "$build" --target "${sanitized_extras[@]}"
}

run_sanitized() {
  case "${sanitized_extras[*]}" in *mpc-import-*)
    mkdir -p "$results/sanitized/importer"
    GTEST_OUTPUT="xml:$results/sanitized/importer/importer.xml" \
      timeout 10m "$build/bin/mpc-import-sanitized-test" --gtest_brief=1 \
      | tail -n 40 || true ;;
  esac
  [ ${#sanitized_tests[@]} -gt 0 ] || return 0
  mkdir -p "$results/sanitized/gtest"
  MPC_GPU_PROGRAMS=$build/test/cuda/sanitized \
    run_programs "$sanitized" "$results/sanitized" "${sanitized_tests[@]}"
}

# Paths of the lit tests that match the filter, and names of ctest programs.
matching_tests() {
  /usr/lib/llvm-22/bin/lit --show-tests "$build/test" \
    | sed -n 's/^ *mpc :: //p' | grep -iE -- "$filter" || true
}
matching_programs() {
  (cd "$build" && ctest -N -R "$filter") | sed -n 's/^ *Test *#[0-9]*: *\(mpc-.*\)/\1/p'
}

# The programs of the build that the tests in these files call.
programs_in() {
  grep -ohE '\bmpc-[a-z-]+[a-z]\b' "$@" | sort -u > "$results/named"
  ninja -C "$build" -t targets all | sed -n 's/^\(mpc-[a-z-]*\): phony$/\1/p' | sort -u \
    | comm -12 - "$results/named"
}

run_filter() {
  local tests programs
  mapfile -t tests < <(matching_tests)
  mapfile -t programs < <(matching_programs)
  if [ ${#tests[@]} = 0 ] && [ ${#programs[@]} = 0 ]; then
    echo "test.sh: error: --filter='$filter' matches no test" >&2
    exit 2
  fi
  rm -rf "$results"
  mkdir -p "$results/gtest"
  local targets=(mpc "${programs[@]}")
  [ ${#tests[@]} = 0 ] || mapfile -t -O ${#targets[@]} targets \
    < <(cd "$root/test" && programs_in "${tests[@]}")
  step "Building ${targets[*]}" cmake --build "$build" --target "${targets[@]}"
  local failed=0
  [ ${#programs[@]} = 0 ] || (cd "$build" && ctest --output-on-failure -R "$filter") || failed=1
  [ ${#tests[@]} = 0 ] || /usr/lib/llvm-22/bin/lit -v --no-progress-bar \
    --filter="$filter" "$build/test" || failed=1
  exit $failed
}

# join_found KIND SEPARATOR: prints the second words of the lines of $found that
# begin with KIND, joined with SEPARATOR.
join_found() {
  awk -v kind="$1" -v between="$2" '$1 == kind && !seen[$2]++ {
    printf "%s%s", separator, $2; separator = between }' <<< "$found"
}

run_families() {
  local group names failed=0
  for group in $(join_found families ' '); do
    names=$(awk -v group="$group" '$1 == "families" && $2 == group { print $3 }' <<< "$found")
    mkdir -p "$results/families"
    python3 "$root/test/goldens/families/families.py" "$build/bin/mpc" "$group" \
      "$results/families" --only="^(${names//$'\n'/|})\$" || failed=1
  done
  return $failed
}

run_node_tests() {
  local python=$build/venv/bin/python
  "$python" -c 'import onnx' 2> /dev/null || { echo "    skipped: no onnx package"; return; }
  "$python" "$root/test/onnx/node_tests.py" "$build/bin/mpc" --op="$(join_found onnx '|')"
}

run_op() {
  local tests programs program filter failed=0
  read -ra tests <<< "$(join_found lit ' ')"
  read -ra programs <<< "$(join_found gtest ' ')"
  rm -rf "$results"
  mkdir -p "$results"
  local targets=(mpc "${programs[@]}")
  [ ${#tests[@]} = 0 ] || mapfile -t -O ${#targets[@]} targets \
    < <(cd "$root/test" && programs_in "${tests[@]}")
  step "Building ${targets[*]}" cmake --build "$build" --target "${targets[@]}"
  for program in "${programs[@]}"; do
    filter=$(awk -v program="$program" '$2 == program { print $3 }' <<< "$found")
    step "Running ${program}" "$build/bin/$program" --gtest_brief=1 \
      --gtest_filter="${filter//$'\n'/:}" || failed=1
  done
  [ ${#tests[@]} = 0 ] || step "Running lit" /usr/lib/llvm-22/bin/lit -v --no-progress-bar \
    --filter=" :: ($(join_found lit '|'))\$" "$build/test" || failed=1
  step "Running families of models" run_families || failed=1
  step "Running ONNX's node tests" run_node_tests || failed=1
  exit $failed
}

found=
[ -z "$op" ] || found=$(python3 "$root/tools/tests_of_op.py" "$op") || exit 2
step "Configuring" configure
[ -z "$filter" ] || run_filter
[ -z "$op" ] || run_op
step "Building" cmake --build "$build"
step "Building with sanitizers" build_sanitized
rm -rf "$results"
mkdir -p "$results/gtest"
# A failing test must not prevent the others from running.
step "Running the programs that are tests" run_programs "$build" "$results" || true
step "Running those with sanitizers" run_sanitized || true
step "Running lit" run_lit "$results" || true
shard=0
for level in $(lower_levels); do
  step "Running what depends on instructions with $level" run_level "$level" $shard || true
  shard=$((shard + 1))
done
[ -z "$long" ] || step "Training random deep graphs for a step" run_deep_sweep || true
python3 "$root/tools/count_tests.py" "$results"
