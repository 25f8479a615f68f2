#!/usr/bin/env bash
# Packs everything that a bare x86-64 Linux machine with a GPU needs to run the
# suite and the benchmarks in a folder of less than 60 MB with `run.sh` in it. The
# machine must have NVIDIA's driver, python3 with NumPy, and CUDA's libraries, for
# example those of PyTorch; for the benchmarks also PyTorch and the onnx package.
#
# usage: tools/gpu/check.sh [OPTION...] FOLDER
#   --target=LIST     of mpc compile (default: cpu,cuda:sm_90); the suite's
#                     programs are for the first architecture in it
#   --program=NAME    pack this test program too; may be repeated
#   --small           one model and no benchmarks, for trying out this script
#   --no-build        pack the programs in build/ without rebuilding them
#
# MPC_BUILD_DIR names another folder to build in than build/.
source "$(dirname "$0")/../common.sh"

target=cpu,cuda:sm_90
small=0 make=1 folder=
programs=()
for option; do
  case "$option" in
    --target=*) target=${option#*=} ;;
    --program=*) programs+=("${option#*=}") ;;
    --small) small=1 ;;
    --no-build) make=0 ;;
    -*)
      sed -n '2,14s/^# \{0,1\}//p' "$0"
      [ "$option" = --help ] && exit 0 || exit 2
      ;;
    *) folder=$option ;;
  esac
done
if [ -z "$folder" ]; then
  echo "check: error: say which folder to write; see tools/gpu/check.sh --help" >&2
  exit 2
fi
if [ -e "$folder" ] && [ ! -e "$folder/run.sh" ]; then
  echo "check: error: '$folder' exists and was not written by this script" >&2
  exit 1
fi
most_bytes=60000000
# Libraries that every Linux with a compiler has; all others are packed.
on_the_machine='^(linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|libgomp)[.-]'
# Packages for building from source that such a machine lacks.
packages=(libdnnl-dev libflatbuffers-dev libxxhash-dev libzip-dev libcli11-dev
  nlohmann-json3-dev libtomlplusplus-dev libgtest-dev)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
content=$work/content
mkdir -p "$content"/{bin,libexec,lib,packages,deps}

# Names of the programs with ctest label `gpu`, except those that need the compiler.
find_suite() {
  (cd "$build" && ctest --show-only=json-v1 -L '^gpu$') | python3 -c '
import json, pathlib, sys
for test in json.load(sys.stdin)["tests"]:
    print(pathlib.Path(test["command"][0]).name)' | grep -v '^mpc-make' | sort -u
}

build_programs() {
  cmake --build "$build" --target mpc mpc-light mpc-gpu-bench mpc-make-gpu-programs \
    ${programs[@]+"${programs[@]}"}
}

# pack_program FILE NAME: packs the program without symbols, and a script that
# starts it with the packed libraries.
pack_program() {
  local library
  strip -o "$content/libexec/$2" "$1"
  cat > "$content/bin/$2" << 'END'
#!/bin/sh
top=$(cd "$(dirname "$0")/.." && pwd)
LD_LIBRARY_PATH=$top/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "$top/libexec/$(basename "$0")" "$@"
END
  chmod +x "$content/bin/$2"
  if ldd "$1" | grep 'not found'; then
    echo "    error: $1 lacks these libraries" >&2
    return 1
  fi
  ldd "$1" | awk '$2 == "=>" { print $3 }' | while read -r library; do
    if ! basename "$library" | grep -Eq "$on_the_machine"; then
      cp -L "$library" "$content/lib/"
    fi
  done
}

pack_programs() {
  local name
  pack_program "$build/bin/mpc-light" mpc
  pack_program "$build/bin/mpc-gpu-bench" mpc-gpu-bench
  for name in ${programs[@]+"${programs[@]}"}; do
    pack_program "$build/bin/$name" "$name"
    echo "$name" >> "$content/suite.txt"
  done
  touch "$content/suite.txt"
}

# Compiles FP8 packages if the first architecture can multiply FP8.
compile_fp8() {
  local version
  version=$(echo "$target" | tr , '\n' | sed -n 's/^cuda:sm_\([0-9]*\).*/\1/p' | head -n 1)
  if [ "${version:-0}" -ge 89 ]; then
    "$build/bin/mpc" compile "$root/runtime/examples/digits/mlp.onnx" \
      --precision=fp8 --op-precision=fc1=fp8 --batch=64 --target="$target" \
      --target-cpu=x86-64-v3 -o "$content/packages/mlp-fp8.mpc" \
      2> "$work/notes" > /dev/null || { cat "$work/notes" >&2; return 1; }
  fi
}

compile_models() {
  local model precision
  local models=(mlp cnn) precisions=(fp32 bf16 fp16)
  if [ $small = 1 ]; then models=(mlp) precisions=(bf16); fi
  for model in "${models[@]}"; do
    for precision in "${precisions[@]}"; do
      "$build/bin/mpc" compile "$root/runtime/examples/digits/$model.onnx" \
        --precision="$precision" --batch=64 --target="$target" \
        --target-cpu=x86-64-v3 -o "$content/packages/$model-$precision.mpc" \
        2> "$work/notes" > /dev/null || { cat "$work/notes" >&2; return 1; }
    done
  done
  [ $small = 1 ] || compile_fp8
  ls "$content/packages" | sed 's/^/    /'
}

# Compiles the programs for mpc-gpu-programs-test, for the first CUDA architecture
# in the list.
compile_programs() {
  local architecture
  architecture=$(echo "$target" | tr , '\n' | sed -n 's/^cuda://p' | head -n 1)
  "$build/bin/mpc-make-gpu-programs" "$content/packages/programs" "${architecture:-sm_80}"
  ls "$content/packages/programs" | wc -l | sed 's/$/ programs/; s/^/    /'
}

# Compiles the benchmark models, which are made with the onnx package.
compile_benchmarks() {
  local python=python3
  [ -x "$build/venv/bin/python" ] && python=$build/venv/bin/python
  if ! "$python" -c 'import numpy, onnx' 2> /dev/null; then
    echo "    error: $python lacks numpy or onnx: run tools/setup.sh --python" >&2
    return 1
  fi
  "$python" "$root/test/bench/gpu.py" --build="$build" --target="$target" \
    --make-packages="$content/packages/bench" | sed 's/^/    /'
}

pack_sources() {
  git -C "$root" ls-files -z --cached --others --exclude-standard -- \
    CMakeLists.txt compiler kernels passes runtime tools test \
    | (cd "$root" && tar -c --null -T -) | tar -x -C "$content"
  git -C "$root" describe --always --dirty > "$content/REVISION"
}

# Packs the files of Debian packages at their paths below deps/usr.
pack_dependencies() {
  dpkg -L "${packages[@]}" | sort -u | while read -r file; do
    if [ -f "$file" ] || [ -L "$file" ]; then
      case "$file" in
        /usr/include/* | */cmake/* | /usr/share/cmake/*) echo "$file" ;;
        /usr/lib/*/libgtest*.a) echo "$file" ;;
      esac
    fi
  done > "$work/files"
  tar -c -h -C / -T <(sed 's,^/,,' "$work/files") | tar -x -C "$content/deps"
  cp "$build/runtime/src/program/program_generated.h" "$content/deps/"
}

pack_folder() {
  local folder=$1 level=-6 size
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$root/tools/gpu/run.sh" "$folder/run.sh"
  # Most of the folder is shared libraries, which compress well.
  [ $small = 1 ] && level=-1
  tar -c -C "$content" . | xz -T0 $level > "$folder/content.tar.xz" || return 1
  size=$(du -sb "$folder" | cut -f1)
  du -sb "$content"/* | sort -rn | head -n 4 | sed "s,$content/,,; s/^/    before packing: /"
  echo "    $folder: $size bytes"
  if [ "$size" -gt $most_bytes ]; then
    echo "    error: that is more than $most_bytes" >&2
    return 1
  fi
}

if [ $make = 1 ]; then
  step "Configuring" configure
  programs+=($(find_suite))
  step "Building" build_programs
else
  programs+=($(find_suite))
fi
step "Packing programs" pack_programs
step "Compiling models" compile_models
[ $small = 1 ] || step "Compiling the suite's programs" compile_programs
[ $small = 1 ] || step "Compiling benchmarks" compile_benchmarks
step "Packing sources" pack_sources
step "Packing what they need" pack_dependencies
step "Writing the folder" pack_folder "$folder"
echo "copy $folder to the machine and run there: ./run.sh --help"
