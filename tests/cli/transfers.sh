#!/usr/bin/env bash
# duet copy --transfers and --set: free lists of copies, and nvbandwidth's tests by their names.
fixtures=$(realpath "$(dirname "$0")/../importing")
source "$(dirname "$0")/check.sh"

cat > lists.txt << END
[both ways]
64K  0  1  dma  push
1M   1  0  kernel  pull
[mixed]
64K  pinned  0
48K  1  1  kernel
END
for device in host:2 sim:h200-4; do
  rm -f lists.jsonl
  expect_code 0 copy --device $device --transfers lists.txt --alone --seconds 0.02 --json lists.jsonl
  [[ $(grep -c '"benchmark":"transfers".*"verified":true' lists.jsonl) == 6 ]] || fail "$device: $(cat out)"
  grep -q '"list":"both ways","part":"all","transfers":2,"bytes":1114112' lists.jsonl || fail "no list: $(cat lists.jsonl)"
  grep -q '"transfers":"64 KiB 0>1 dma push; 1 MiB 1>0 kernel pull"' lists.jsonl || fail "what a list is"
done
expect_code 0 copy --device host:2 --transfers lists.txt --list
[[ $(grep -c '^transfers on host:2' out) == 2 ]] || fail "--list: $(cat out)"

printf '64K 0 1\n64K 0 7\n' > bad.txt
refuses "bad.txt:2: '7': expected a device from 0 to 1" copy --device host:2 --transfers bad.txt
printf '64K 0 1 fast\n' > bad.txt
refuses "bad.txt:1: 'fast': expected BYTES FROM TO" copy --device host:2 --transfers bad.txt
refuses "nowhere.txt" copy --device host:2 --transfers nowhere.txt
refuses "--kind: expected without --transfers" copy --transfers lists.txt --kind local
refuses "--alone: expected --transfers" copy --alone
refuses "did you mean" copy --device sim:h200-4 --set host_to_device_memcpy_c
refuses "expected one size" copy --device sim:h200-4 --set nvbandwidth --sizes 1M,2M
refuses "--pattern: expected without --set" copy --set nvbandwidth --pattern pair

expect_code 0 copy --device sim:h200-4 --set nvbandwidth --quiet --json set.jsonl
[[ $(grep -c '"type":"result"' set.jsonl) -ge 100 && $(grep -c '"outcome":"measured"' set.jsonl) == $(grep -c '"type":"result"' set.jsonl) ]] ||
  fail "some tests were not measured"
# The same axes as the tool's own output gets, but for names of devices and what Duet's kernels add.
axes() { sed -n 's/.*"benchmark":"copy".*"case":{\([^}]*\)}.*/\1/p' "$1" | sed 's/sim:h200-4/cuda/g; s/,"grid":0,"block":0//' | sort; }
expect_code 0 import "$fixtures/nvbandwidth.txt" --bytes 512M --out tool.jsonl
axes tool.jsonl > tool.axes
axes set.jsonl > set.axes
[[ -s tool.axes && -z $(comm -23 tool.axes set.axes) ]] || fail "other axes: $(comm -23 tool.axes set.axes)"
finish
