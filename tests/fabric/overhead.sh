#!/usr/bin/env bash
# The comparison of Duet's messages with a bare loop's and fi_pingpong's runs, and no message costs
# twice as much: overhead.sh PROGRAM LOOP. What the ratios are is for bench/fabric_overhead.sh on a
# quiet machine: on two shared cores that of 64 bytes over shm is 0.74 to 0.87 from hour to hour.
set -euo pipefail
duet=$(realpath "$1")
loop=$(realpath "$2")
bench=$(realpath "$(dirname "$0")/../../bench/fabric_overhead.sh")
if [[ ! -e $(dirname "$duet")/modules/duet_libfabric.so ]] || ! command -v fi_pingpong > /dev/null; then
  echo "skipped: needs the libfabric module and fi_pingpong"
  exit 77
fi
(($(nproc) > 1)) || { echo "skipped: needs two cores"; exit 77; }

least() {  # ROW: over three turns
  "$bench" "$duet" "$loop" 3 "$1" | awk '{ print } $NF < 0.5 { low = 1 } END { exit low || NR != 1 }'
}

for row in "write shm 1048576" "write tcp.* 65536 window 16" "send_recv shm 64$"; do
  least "$row" || least "$row" || least "$row" || { echo "FAIL: $row" >&2; exit 1; }
done
