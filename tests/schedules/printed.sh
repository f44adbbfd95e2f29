#!/usr/bin/env bash
# Printed schedules, run by a program that knows their form alone: printed.sh DUET PYTHON
set -euo pipefail
duet=${1:?usage: printed.sh DUET PYTHON}
python=${2:?usage: printed.sh DUET PYTHON}
here=$(cd "$(dirname "$0")" && pwd)

# runs FLAGS...: of the schedules that the command prints, as they are and without what is for speed.
runs() {
  for speed in "" --mark-speed; do
    "$duet" collective "$@" --show-schedule $speed --json - | "$python" "$here/run_printed.py" ||
      { echo "failed: duet collective $* --show-schedule $speed"; exit 1; }
  done
}
moves=all_gather,all_to_all,broadcast,gather,scatter,send_recv,neighbor_exchange
runs $moves -b 96 -d int8 --device host:4
runs $moves,all_to_all_v -b 60 -d int8 --skew random --device sim:h200:devices=5
runs $moves -b 48 -d int8 --device sim:mi300x:devices=3
runs reduce_scatter,all_reduce -b 96 -d int32 --device host:4
runs all_reduce -b 8 -d int32 --device host:3
DUET_REDUCTIONS=in-flight runs reduce_scatter -b 96 -d int32 --device sim:h200:devices=3
DUET_REDUCTIONS=slots runs reduce_scatter -b 96 -d int32 --device sim:h200:devices=3
all=all_gather,all_to_all,broadcast,reduce_scatter,all_reduce,neighbor_exchange
runs $all -b 96 -d int32 --device host:4 --node-size 2
runs $all -b 72 -d int32 --device host:3 --node-size 1
DUET_ALGORITHM=nodes-neighbors runs neighbor_exchange -b 96 -d int8 --device host:4 --node-size 2
runs $all -b 96 -d int32 --device sim:p5-48xlarge:devices=3:nodes=2

# It is no blind eye: a schedule with a copy, a wait or an edge less is wrong.
good=$("$duet" collective all_gather -b 96 -d int8 --device host:3 --engine dma --in-place out --show-schedule --json -)
wrong() {
  if "$python" -c "
import json, sys
form = json.loads(sys.stdin.read())
steps = form['steps']
$1
print(json.dumps(form))" <<<"$good" | "$python" "$here/run_printed.py" 2>/dev/null; then
    echo "not noticed: $1"
    exit 1
  fi
}
wrong "next(s for s in steps if 'writes' in s).pop('writes')"
wrong "[s.pop('waits') for s in steps if any('done' in w for w in s.get('waits', []))][0]"
wrong "[s.pop('signals') for s in steps if any('ready' in w for w in s.get('signals', []))][0]"
wrong "next(s for s in steps if 'reads' in s)['reads'][0][1] += 1"

# An algorithm that was asked for and does not fit is not silently another one.
said=$(DUET_ALGORITHM=relay "$duet" collective all_gather --device host:3 -b 4K --engine dma --in-place out --seconds 0.02 2>&1)
grep -q 'DUET_ALGORITHM=relay does not fit all_gather of 3 ranks' <<<"$said" || { echo "no warning in: $said"; exit 1; }
said=$(DUET_ALGORITHM=relay "$duet" collective all_gather --device host:3 -b 4K --engine dma --in-place out --show-schedule 2>&1)
grep -q 'DUET_ALGORITHM=relay does not fit all_gather of 3 ranks' <<<"$said" || { echo "no warning in: $said"; exit 1; }
said=$(DUET_ALGORITHM=relay "$duet" collective broadcast --device host:4 --node-size 2 -b 4K --engine dma --in-place out --show-schedule 2>&1)
grep -q 'DUET_ALGORITHM=relay does not fit broadcast of 4 ranks over 2 nodes' <<<"$said" || { echo "no warning in: $said"; exit 1; }

# The documentation has all names.
names=$(DUET_ALGORITHM=? "$duet" collective all_gather --device host:2 -b 4K 2>&1 | sed 's/.*expected //; s/, /\n/g') || true
(($(wc -l <<<"$names") > 5))
while IFS= read -r name; do
  grep -q "^\*\*One algorithm for all sizes.*\`$name\`" "$here/../../docs/collectives.md" || { echo "docs/collectives.md: no $name"; exit 1; }
done <<<"$names"
echo "all schedules run"
