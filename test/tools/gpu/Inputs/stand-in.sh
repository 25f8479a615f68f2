#!/bin/sh
# Stands for mpc on a machine with a GPU, on which $REAL_MPC runs as on the CPU.
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
