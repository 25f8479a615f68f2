# Functions shared by the scripts of this folder; source it in bash.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${MPC_BUILD_DIR:-$root/build}

if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold= plain=; fi

# refuse_or_help OPTION LINES: for --help, prints the comment in the script's
# first LINES lines; for any other option, an error that names it.
refuse_or_help() {
  sed -n "2,$2s/^# \{0,1\}//p" "$0"
  [ "$1" != --help ] || exit 0
  echo "$(basename "$0"): error: unknown option '$1'" >&2
  exit 2
}

# step TEXT COMMAND...: prints TEXT, runs COMMAND, prints how long it took.
step() {
  local text=$1 begin=$EPOCHREALTIME
  shift
  printf '%s==> %s%s\n' "$bold" "$text" "$plain"
  "$@" || { local code=$?; echo "    failed after $(since "$begin")"; return $code; }
  echo "    done in $(since "$begin")"
}

# since TIME: the time since a value of EPOCHREALTIME, "1.2 s".
since() {
  local now=$EPOCHREALTIME
  local ms=$(((${now/[.,]/} - ${1/[.,]/}) / 1000))
  printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

# is_configured [-DNAME=VALUE...]: whether the build folder belongs to this tree
# and has these values, whether a script, a preset or the user set them.
is_configured() {
  local cache=$build/CMakeCache.txt option name
  [ -f "$build/build.ninja" ] && [ -f "$cache" ] || return 1
  for option in "-DCMAKE_HOME_DIRECTORY=$root" "$@"; do
    name=${option#-D}
    name=${name%%=*}
    [ "$(sed -n "s/^$name:[A-Z]*=//p" "$cache")" = "${option#*=}" ] || return 1
  done
}

# configure [-DNAME=VALUE...]: runs CMake unless the build folder already has
# these values. They are those of CMakePresets.json for build/.
configure() {
  local options=(-DCMAKE_BUILD_TYPE=Release "$@")
  # ninja itself reruns CMake when a CMake file changes.
  if is_configured "${options[@]}"; then
    echo "    as it was"
    return
  fi
  # A build folder of another generator cannot be reused.
  if [ -f "$build/CMakeCache.txt" ] && [ ! -f "$build/build.ninja" ]; then
    rm -f "$build/CMakeCache.txt"
  fi
  cmake -S "$root" -B "$build" -G Ninja "${options[@]}"
}
