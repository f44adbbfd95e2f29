#!/usr/bin/env bash
# duet fleet: the journals of many nodes, the place that is named, missing and failed nodes, its files.
source "$(dirname "$0")/check.sh"

expect_code 0 copy --device sim:h200-4 --kind peer --executor dma --pattern pair --one-way --sizes 1M --matrix 64M \
  --json base.jsonl --quiet
mkdir nodes
for i in 1 2 3 4 5 6; do
  sed -E "s/\"host\":\{\"name\":\"[^\"]*\"/\"host\":{\"name\":\"node$i\"/" base.jsonl > nodes/n$i.jsonl
done
slow() {  # FROM TO FILE
  sed -i -E "/\"source\":\"sim:h200-4:$1\",\"destination\":\"sim:h200-4:$2\"/s/\"gb_per_s\":[0-9.]+/\"gb_per_s\":9.5/" "$3"
}

expect_code 0 fleet nodes
grep -qE '^duet fleet: OK: 6 nodes: nothing unlike in [0-9]+ figures$' out || fail "in order: $(cat out)"
[[ ! -s err ]] || fail "in order, and yet: $(cat err)"

# A link, in both directions; then a GPU, of which all copies are slow.
slow 1 3 nodes/n5.jsonl
slow 3 1 nodes/n5.jsonl
expect_code 1 fleet nodes --json fleet.json --prometheus fleet.prom
grep -q '^duet fleet: FAIL: 6 nodes: 1 suspect$' out || fail "a link: $(cat out)"
grep -qE '^  node5 sim:h200-4:1 - sim:h200-4:3 .* duet copy --device sim:h200-4:1,3 --kind peer$' out || fail "a link: $(cat out)"
grep -q '"place": "node5 sim:h200-4:1 - sim:h200-4:3"' fleet.json || fail "JSON: $(cat fleet.json)"
grep -qx 'duet_fleet_ok 0' fleet.prom || fail "metrics: $(cat fleet.prom)"
[[ $(grep -v '^#' fleet.prom | sed 's/ [^ ]*$//' | sort | uniq -d | wc -l) == 0 ]] || fail "a sample twice"
# A store of them: duet history says the same, of all figures and not of some.
run history nodes/*.jsonl --store fleet.sqlite
if [[ $code == 0 ]]; then
  expect_code 0 history --store fleet.sqlite
  grep -qE '^  node5 sim:h200-4:1 - sim:h200-4:3 +-[0-9.]+% +sure ' out || fail "history: $(tail -n 5 out)"
  expect_code 0 history --store fleet.sqlite --device node5
  ! grep -q 'Slower than' out || fail "history of one node beside itself"
else
  grep -q 'needs SQLite' err || fail "history: $(cat err)"
fi
for i in 0 2; do
  slow 3 $i nodes/n5.jsonl
  slow $i 3 nodes/n5.jsonl
done
expect_code 1 fleet nodes/*.jsonl --prometheus fleet.prom
grep -qE '^  node5 sim:h200-4:3 .* duet health --device sim:h200-4:3 --verbose$' out || fail "a GPU: $(cat out)"
[[ $(grep -c '^  node5' out) == 1 ]] || fail "not the GPU alone: $(cat out)"
expect_code 1 fleet nodes --json -
[[ $(head -c 1 out) == '{' ]] || fail "JSON on standard output: $(cat out)"
grep -q '^duet fleet: FAIL' err || fail "the text beside it: $(cat err)"

# Missing, failed, cut short.
rm nodes/n5.jsonl
head -c -40 nodes/n6.jsonl > cut && mv cut nodes/n6.jsonl
tail -n 1 nodes/n4.jsonl | sed 's/"outcome":"measured"/"outcome":"failed","failed":{"reason":"lost"}/' > last
head -n -1 nodes/n4.jsonl | cat - last > part && mv part nodes/n4.jsonl
echo 'no journal' > nodes/n7.jsonl
expect_code 1 fleet nodes --nodes 'node[1-6],node9'
grep -q '^Missing: node5, node9$' out || fail "missing: $(cat out)"
grep -qE '^  node4: 1 case failed .*: failed: lost; lacks 1 figure ' out || fail "failed: $(cat out)"
grep -qE '^  node6: .*a run did not reach its end: nodes/n6.jsonl' out || fail "cut short: $(cat out)"
grep -qE '^  nodes/n7.jsonl:1: ' out || fail "no journal: $(cat out)"
grep -q 'cut short' err || fail "no warning: $(cat err)"
rm nodes/n7.jsonl
printf 'node1\nnode2  # a comment\n' > names
expect_code 1 fleet nodes --nodes names

# One node is compared with itself; names may be those of the files.
expect_code 0 fleet nodes/n1.jsonl
expect_code 0 fleet <(cat nodes/n1.jsonl nodes/n2.jsonl nodes/n3.jsonl)
grep -q '^duet fleet: OK: 3 nodes: ' out || fail "journals one after the other: $(cat out)"
expect_code 0 fleet nodes/n1.jsonl nodes/n2.jsonl nodes/n3.jsonl --node-names file --groups <(echo 'leaf = ["n[1-2]"]')
expect_code 0 gemm --device sim:h200:devices=1 --shapes 64x64x64 --iterations 3 --json one.jsonl --quiet
expect_code 1 fleet one.jsonl
grep -q 'nothing was compared' err || fail "one figure: $(cat err)"

# Rounds in which every node meets every other.
expect_code 0 fleet plan --nodes 'node[1-4]'
[[ $(cut -d' ' -f2,3 out | sort -u | wc -l) == 6 && $(cut -d' ' -f1 out | sort -u | wc -l) == 3 ]] || fail "plan: $(cat out)"
expect_code 0 fleet plan --nodes 1000 --rounds 4 --json plan.json
[[ $(wc -l < out) == 2000 ]] || fail "four rounds: $(wc -l < out) lines"
[[ $(head -c 14 plan.json) == '{"nodes":["0",' ]] || fail "plan as JSON: $(head -c 100 plan.json)"
refuses "expected --nodes" fleet plan
refuses "2 to 4096 different nodes" fleet plan --nodes 1
refuses "expected with plan" fleet nodes --rounds 3
refuses "expected with journals" fleet plan --nodes 4 --all

refuses "expected journals" fleet
refuses "no such file" fleet nowhere
mkdir empty
refuses "expected a folder of journals" fleet empty
refuses "is no list of nodes" fleet nodes --nodes 'a['
refuses "--node-names" fleet nodes --node-names ip
refuses "--groups" fleet nodes --groups nowhere.toml
refuses "fleet.json" fleet nodes/n1.jsonl --json fleet.json
echo hello > hello.prom
refuses "hello.prom" fleet nodes/n1.jsonl --prometheus hello.prom
finish
