#!/usr/bin/env bash
# That Duet's messages cost little more than a bare loop's and fi_pingpong's: overhead.sh PROGRAM LOOP.
# A few short turns may be off by a tenth: held is 0.85, and 0.6 for messages of 64 bytes over shm,
# whose ratio on two shared cores is 0.74 to 0.87 from hour to hour. What is reached is measured by
# bench/fabric_overhead.sh with more turns.
set -euo pipefail
duet=$(realpath "$1")
loop=$(realpath "$2")
bench=$(realpath "$(dirname "$0")/../../bench/fabric_overhead.sh")
if [[ ! -e $(dirname "$duet")/modules/duet_libfabric.so ]] || ! command -v fi_pingpong > /dev/null; then
  echo "skipped: needs the libfabric module and fi_pingpong"
  exit 77
fi
(($(nproc) > 1)) || { echo "skipped: needs two cores"; exit 77; }

least() {  # ROW RATIO: over three turns
  "$bench" "$duet" "$loop" 3 "$1" < /dev/null |
    awk -v held="$2" '{ print } $NF < held { low = 1 } END { exit low || NR != 1 }'
}

while read -r held row; do
  least "$row" "$held" || least "$row" "$held" || least "$row" "$held" ||
    { echo "FAIL: $row: below $held" >&2; exit 1; }
done << 'EOF'
0.85 write shm 1048576
0.85 write tcp.* 65536 window 16
0.6 send_recv shm 64$
EOF
