#!/bin/sh
# Runs the suite and the benchmarks on a machine with a GPU.
#
# usage: run.sh [--out=DIR] [--only=LIST] [--build] [OPTION...]
#   --out=DIR      folder for results.json, the table and logs
#                  (default: $OUT, or results/ here)
#   --only=LIST    of: doctor smoke steps suite digits sanitizer bench
#                  (default: all, in this order)
#   --resume       run only what results.json in --out does not have yet
#   --jobs=N       processes that run side by side (default: 1); benchmarks never do
#   --build        build from source even if the packed programs run
#   others         are passed to test/bench/gpu.py: --parts mlp, --rounds 7, ...
#
# Without a GPU, the parts that need one are skipped, with the reason.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-$here/results}
only=doctor,smoke,steps,suite,digits,sanitizer,bench
build=0
jobs=1
resume=
while [ $# -gt 0 ]; do
  case "$1" in
    --out=*) out=${1#*=} ;;
    --only=*) only=${1#*=} ;;
    --build) build=1 ;;
    --resume) resume=--resume ;;
    --jobs=*) jobs=${1#*=} ;;
    --help)
      sed -n '2,14s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) break ;;
  esac
  shift
done
if ! command -v python3 > /dev/null; then
  echo "run.sh: error: there is no python3 on the path" >&2
  exit 1
fi
mkdir -p "$out"

content=$here/content
if [ ! -e "$content/REVISION" ]; then
  echo "==> Unpacking"
  rm -rf "$content.new"
  mkdir "$content.new"
  # Not tar, which needs the program xz.
  python3 -c 'import sys, tarfile
with tarfile.open(sys.argv[1]) as archive:
    archive.extractall(sys.argv[2])' "$here/content.tar.xz" "$content.new"
  mv "$content.new" "$content"
fi
top=$content
if [ $build = 0 ] && ! why=$("$content/bin/mpc" --version 2>&1); then
  echo "==> The packed programs do not run here: $why"
  build=1
fi
if [ $build = 1 ]; then
  echo "==> Building from source"
  sh "$content/tools/gpu/build.sh" "$content" > "$out/build.log" 2>&1 || {
    tail -n 30 "$out/build.log"
    echo "run.sh: error: building failed; all of it is in $out/build.log" >&2
    exit 1
  }
  top=$content/built
fi
exec python3 "$content/tools/gpu/run.py" --content="$content" --programs="$top/bin" \
  --out="$out" --only="$only" --jobs="$jobs" $resume -- "$@"
