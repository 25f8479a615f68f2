#!/usr/bin/env bash
# Compares the C and C++ sources with clang-format 14 and .clang-format.
#
# usage: tools/lint/check_format.sh [--fix] [FILE...]   (default: all of git's)
#
# Not part of the tests: other versions of clang-format format differently.
set -euo pipefail
cd "$(dirname "$0")/../.."

fix=0
if [ "${1:-}" = --fix ]; then
  fix=1
  shift
fi
format=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$format" ] || ! "$format" --version | grep -q ' version 14\.'; then
  echo "check_format: error: needs clang-format 14 (apt-get install clang-format-14)" >&2
  exit 1
fi

files=("$@")
if [ ${#files[@]} = 0 ]; then
  mapfile -t files < <(git ls-files '*.h' '*.c' '*.cpp')
fi
if [ "$fix" = 1 ]; then
  exec "$format" -i "${files[@]}"
fi
faults=0
for file in "${files[@]}"; do
  if ! "$format" --dry-run --Werror "$file" 2> /dev/null; then
    echo "$file: not formatted"
    faults=1
  fi
done
exit $faults
