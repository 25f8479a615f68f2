#!/bin/sh
# Imitates mpc on a machine with a GPU; runs $REAL_MPC on the CPU instead.
if [ "$1" = doctor ]; then
  echo '{"ready": true, "missing": [], "devices": [{"name": "Stand-in"}]}'
  exit 0
fi
for argument; do
  shift
  [ "$argument" = --device=cuda ] && argument=--device=cpu
  set -- "$@" "$argument"
done
exec "$REAL_MPC" "$@"
