#!/usr/bin/env bash
# Runs collective_ranks as several processes: collectives.sh PROGRAM [ENGINE DEVICE PROCESSES].
# Without an engine: mpi on host devices, where mpirun is there (exit code 77 where it is not).
set -euo pipefail
program=$(realpath "$1")
engine=${2:-mpi}
device=${3:-host}
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT
export DUET_TUNING=/nowhere/tuning.json  # not the user's

if ! command -v mpirun > /dev/null || [[ ! -e $(dirname "$program")/../modules/duet_mpi.so ]]; then
  echo "skipped: needs mpirun and the MPI module"
  exit 77
fi
for processes in ${4:-2 3 4}; do
  timeout 120 mpirun --oversubscribe --allow-run-as-root -n "$processes" "$program" "$engine" "$device"
  timeout 60 mpirun --oversubscribe --allow-run-as-root -n "$processes" "$program" "$engine" "$device" fail
done

# Not one process a rank: refused with what was expected.
if [[ $engine == mpi ]]; then
  output=$("$program" mpi host:2 2>&1) && exit 1
  grep -q "expected one process a rank, as mpirun" <<< "$output" || { echo "$output"; exit 1; }
fi
