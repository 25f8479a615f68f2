#!/bin/sh
# Cost of compiling and size of the runtime, compared with documented limits.
# usage: footprint.sh [BUILD]     (default: build; needs GNU time and binutils)
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf '%-34s %12s %12s\n' what measured wanted
for model in mlp cnn; do
  for precision in fp32 bf16; do
    /usr/bin/time -f '%e %M' -o "$work/time" "$build/bin/mpc" compile \
      "$root/runtime/examples/digits/$model.onnx" -o "$work/$model.mpc" \
      --batch=64 --precision="$precision" >"$work/log" 2>&1 || {
      cat "$work/log" >&2
      exit 1
    }
    read -r seconds kilobytes <"$work/time"
    printf '%-34s %10s s %12s\n' "compile $model $precision" "$seconds" '<= 2 s'
    printf '%-34s %9s MB %12s\n' '  memory' "$((kilobytes / 1024))" '<= 300 MB'
    printf '%-34s %9s KB\n' '  package' "$(($(stat -c %s "$work/$model.mpc") / 1024))"
  done
done
strip -o "$work/libmpcrt.so" "$build/lib/libmpcrt.so"
printf '%-34s %9s KB %12s\n' 'libmpcrt.so, stripped' \
  "$(($(stat -c %s "$work/libmpcrt.so") / 1024))" '<= 2048 KB'
readelf -d "$work/libmpcrt.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/  needs \1/p' |
  while read -r line; do
    case $line in
      *LLVM* | *MLIR* | *onnx* | *protobuf*) echo "  $line   NOT WANTED" ;;
      *) echo "  $line" ;;
    esac
  done
