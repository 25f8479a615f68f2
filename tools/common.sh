# What the scripts of this folder share; sourced, not run. bash.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${MPC_BUILD_DIR:-$root/build}

if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold= plain=; fi

# refuse_or_help OPTION LINES: what the script's first LINES lines say of it,
# for --help; for anything else an error that names it.
refuse_or_help() {
  sed -n "2,$2s/^# \{0,1\}//p" "$0"
  [ "$1" != --help ] || exit 0
  echo "$(basename "$0"): error: unknown option '$1'" >&2
  exit 2
}

# step TEXT COMMAND...: says what is done, does it, says how long it took.
step() {
  local text=$1 begin=$EPOCHREALTIME
  shift
  printf '%s==> %s%s\n' "$bold" "$text" "$plain"
  "$@" || { local code=$?; echo "    failed after $(since "$begin")"; return $code; }
  echo "    done in $(since "$begin")"
}

# Seconds since a value of EPOCHREALTIME, "1.2 s".
since() {
  local now=$EPOCHREALTIME
  local ms=$(((${now/[.,]/} - ${1/[.,]/}) / 1000))
  printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

# is_configured [-DNAME=VALUE...]: whether the build folder is of this tree and
# has these values, whoever gave them: this script, a preset, a hand.
is_configured() {
  local cache=$build/CMakeCache.txt option name
  [ -f "$build/build.ninja" ] && [ -f "$cache" ] || return 1
  for option in "-DCMAKE_HOME_DIRECTORY=$root" "$@"; do
    name=${option#-D}
    name=${name%%=*}
    [ "$(sed -n "s/^$name:[A-Z]*=//p" "$cache")" = "${option#*=}" ] || return 1
  done
}

# configure [-DNAME=VALUE...]: CMake, if the build folder is not yet as asked.
# What is asked here and what CMakePresets.json asks for build/ are the same.
configure() {
  local options=(-DCMAKE_BUILD_TYPE=Release "$@")
  # ninja runs CMake again by itself when a file of ours changes.
  if is_configured "${options[@]}"; then
    echo "    as it was"
    return
  fi
  # A folder that another generator made cannot be reused.
  if [ -f "$build/CMakeCache.txt" ] && [ ! -f "$build/build.ninja" ]; then
    rm -f "$build/CMakeCache.txt"
  fi
  cmake -S "$root" -B "$build" -G Ninja "${options[@]}"
}
