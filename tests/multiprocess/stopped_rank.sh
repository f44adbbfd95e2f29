#!/usr/bin/env bash
# A process that is stopped before its call of a collective: stopped_rank.sh PROGRAM. Nothing moves
# then, and no rail counts as stalled in this time: the others ask each other, and end with an error
# that names it.
set -euo pipefail
program=$(realpath "$1")
source "$(dirname "$0")/../ports.sh"
if [[ ! -e $(dirname "$program")/../modules/duet_libfabric.so ]]; then
  echo "skipped: needs the libfabric module"
  exit 77
fi
folder=$(mktemp -d)
cd "$folder"
pids=()
trap 'kill -9 "${pids[@]}" 2> /dev/null || true; rm -rf "$folder"' EXIT
export MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=3
for rank in 0 1 2; do
  RANK=$rank LOCAL_RANK=$rank "$program" > "out.$rank" 2> "err.$rank" &
  pids+=($!)
done
failures=0
for rank in 0 1; do
  code=0
  wait "${pids[$rank]}" || code=$?
  if ((code != 0)) || ! grep -q 'rank 2 (pid .*) has not answered for 2 s' "out.$rank"; then
    echo "FAIL: rank $rank ended with $code: $(cat "out.$rank" "err.$rank")" >&2
    failures=1
  fi
done
exit $failures
