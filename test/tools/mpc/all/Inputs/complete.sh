# usage: complete.sh FILE WORD...   prints what bash offers for the last word
compopt() { :; }
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_mpc
printf '%s\n' "${COMPREPLY[@]}" | sort
