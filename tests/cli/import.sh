#!/usr/bin/env bash
# duet import: every form becomes a journal that compare takes, and what is no output of a tool is
# refused without a file.
foreign=$(realpath "$(dirname "$0")/../importing")
source "$(dirname "$0")/check.sh"

for file in "$foreign"/*; do
  name=$(basename "$file")
  [[ $name == README.md ]] && continue
  expect_code 0 import "$file" --out "$name.jsonl" --collective all_gather
  [[ ! -s err ]] || fail "$name: $(cat err)"
  [[ $(head -n 1 "$name.jsonl") == *'"imported":{"tool":"'*"$name"* ]] ||
    fail "$name: $(head -n 1 "$name.jsonl")"
  [[ $name == two_nodes.txt ]] && continue
  expect_code 0 compare "$name.jsonl" "$name.jsonl" --fail-on-regression 0%
done

# A slower run is LOW by the device's spec, and worse than the other.
expect_code 0 import "$foreign/all_reduce.txt" --out healthy.jsonl
grep -q ' PASS' out && ! grep -q 'LOW' out || fail "healthy: $(cat out)"
sed 's/ 4500.0  238.61  357.91 / 9000.0  119.30  178.96 /' "$foreign/all_reduce.txt" > slow.txt
expect_code 0 import slow.txt --out slow.jsonl
grep -q '1 LOW' out || fail "no verdict: $(cat out)"
expect_code 1 compare all_reduce.txt.jsonl slow.jsonl --fail-on-regression 5%
grep -q 'collective on cuda, nccl-tests' err || fail "slower: $(cat err)"

# Several files make one journal; to standard output the counts go to stderr.
run import "$foreign/all_reduce.txt" "$foreign/osu_bw.txt" "$foreign/transferbench.csv" --out -
[[ $code == 0 && $(grep -c '"type":"environment"' out) == 3 ]] || fail "several files: $(cat err)"
grep -q ': 6 cases of nccl-tests (text)$' err || fail "counts: $(cat err)"

# The size of nvbandwidth's buffers is the user's to say.
expect_code 0 import "$foreign/nvbandwidth.txt" --out sized.jsonl --bytes 512M
grep -q ' PASS' out || fail "a copy with its size has no verdict: $(cat out)"
expect_code 0 import "$foreign/nvbandwidth.txt" --out sizeless.jsonl
grep -q ' PASS' out && fail "a copy without its size has a verdict: $(cat out)"
grep -q '"bytes":536870912' sized.jsonl || fail "--bytes: $(cat sized.jsonl)"

# What is not whole, or not one run, is refused with the line.
head -n 16 "$foreign/all_reduce.txt" > cut.txt
refuses 'cut.txt:16: the table of float sum has 1 of 3 sizes' import cut.txt --out no.jsonl
head -n 22 "$foreign/nvbandwidth.txt" > cut.txt
refuses 'cut.txt:19: the matrix of device_to_device_memcpy_read_ce' import cut.txt --out no.jsonl
cat "$foreign/all_reduce.txt" "$foreign/all_reduce.txt" > twice.txt
refuses 'twice.txt:39: the case of line 16 stands again in line 39' import twice.txt --out no.jsonl
sed 's/ 4500.0 / 9000.0 /' "$foreign/all_reduce.txt" > other_time.txt
refuses 'other_time.txt:18: busbw is 179 GB/s' import other_time.txt --out no.jsonl
[[ ! -e no.jsonl ]] || fail "a refused file leaves a journal"

echo 'no benchmark' > other.txt
: > empty.txt
refuses 'other.txt: of no tool that is known: expected the output of nccl-tests' import other.txt --out no.jsonl
refuses 'empty.txt: empty: expected' import empty.txt --out no.jsonl
refuses 'nowhere.txt cannot be read: expected a file' import nowhere.txt --out no.jsonl
refuses '. cannot be read: expected a file' import . --out no.jsonl
refuses 'expected files with output of a tool' import --out no.jsonl
refuses 'expected --out FILE.jsonl' import other.txt
refuses '--bytes 0: expected 1' import "$foreign/nvbandwidth.txt" --out no.jsonl --bytes 0
refuses 'expected --collective' import "$foreign/all_gather_old.txt" --out no.jsonl
refuses 'have a case in common' import "$foreign/all_reduce.txt" slow.txt --out no.jsonl
refuses 'expected one machine of a name' import "$foreign/all_reduce.txt" "$foreign/nvbandwidth.txt" --out no.jsonl
refuses 'other.txt: of no tool' import "$foreign/all_reduce.txt" other.txt --out no.jsonl
refuses 'slow.jsonl exists' import "$foreign/all_reduce.txt" --out slow.jsonl
finish
