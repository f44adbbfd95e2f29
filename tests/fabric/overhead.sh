#!/usr/bin/env bash
# That Duet's messages cost little more than a bare loop's and fi_pingpong's: overhead.sh PROGRAM LOOP.
# A few short turns on a busy machine may be off by a third: held is 0.6 of their rate. What is reached
# is measured by bench/fabric_overhead.sh with more turns.
set -euo pipefail
duet=$(realpath "$1")
loop=$(realpath "$2")
bench=$(realpath "$(dirname "$0")/../../bench/fabric_overhead.sh")
if [[ ! -e $(dirname "$duet")/modules/duet_libfabric.so ]] || ! command -v fi_pingpong > /dev/null; then
  echo "skipped: needs the libfabric module and fi_pingpong"
  exit 77
fi
(($(nproc) > 1)) || { echo "skipped: needs two cores"; exit 77; }

held() {  # ROW: over three turns
  "$bench" "$duet" "$loop" 3 "$1" < /dev/null |
    awk '{ print } $NF < 0.6 { low = 1 } END { exit low || NR != 1 }'
}

for row in 'write shm 1048576' 'write tcp.* 65536 window 16' 'send_recv shm 64$'; do
  held "$row" || held "$row" || held "$row" || { echo "FAIL: $row: below 0.6" >&2; exit 1; }
done
