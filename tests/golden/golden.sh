#!/usr/bin/env bash
# Runs duet on a simulated machine and compares console, journal and table with expected/, byte for
# byte. After a wanted change: tests/golden/golden.sh build/duet --update, and read the diff.
set -euo pipefail
duet=$(realpath "$1")
update=${2:-}
expected=$(realpath "$(dirname "$0")")/expected
traces=$(realpath "$(dirname "$0")/../replay")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export DUET_TUNING=$folder/tuning.json  # not the user's

# golden NAME ARGUMENT...
golden() {
  local name=$1 warm_up=(--warm-up 0)
  shift
  # No warm-up: virtual time needs none, and real time is saved.
  if [[ $1 == overlap ]]; then warm_up=(); fi
  "$duet" "$@" "${warm_up[@]}" --iterations 3 --reproducible --json "$name.jsonl" --csv "$name.csv" > "$name.txt"
}

golden copy_pairs copy --device sim:mi300x-8 --kind peer --executor dma --issue push \
  --sizes 64K,4M --matrix 1M --one-way --verbose
golden copy_curves copy --device sim:h200-4 --kind peer,host_to_device --pattern pair --issue pull \
  --one-way --matrix 0 --sizes 4K,64K,1M,4M --grid 1,16 --block 256
golden gemm gemm --device sim:mi300x-8 --shapes 8192x8192x8192,16384x8192x7168,96x80x64 \
  --dtype bf16,int8 --layout nn,nt
golden gemm_grouped gemm --grouped --device sim:h200-4 --model mixtral --ranks 4 --rows-per-group 512 \
  --routing equal,zipf:1.2
golden gemm_groups gemm --grouped --device sim:h200-4 --shapes 20x64x48 --groups 6 --routing zipf:2
golden collectives collective all_gather,all_to_all --device sim:mi300x-8 \
  --engine dma,vendor-model -b 1M -e 1G -f 4
golden collective_groups collective all_reduce --device sim:h200-8 --groups 4x2 --engine dma \
  --beside all_gather:4M --beside-groups 2x4:strided -b 16M --in-place out
golden overlap overlap training --device sim:mi300x-8 --policy serial,priority,dma,partition:8
golden overlap_of_three overlap --device sim:h200-4 --compute gemm:8192x8192x8192 \
  --communicate all_gather:896M --also copy:device_to_host:64M --policy serial,dma --verbose
golden isolated overlap --isolated --device sim:mi300x-8 --compute gemm:8192x8192x8192 \
  --communicate all_gather:896M

golden layers layer gather-gemm,gemm-scatter,gemm-reduce --device sim:h200-4 \
  --shapes 2048x8192x8192 --engine vendor-model,pieces --ranges 2 --streams 1

golden experts moe --device sim:h200-4 --hidden 512 --width 256 --experts 16 --top-k 3 --tokens 96 \
  --routing uniform,zipf:1 --engine none,vendor-model,dma

golden replayed replay "$traces/execution_trace_nccl.json" "$traces/inspector.jsonl" --device sim:h200-4 \
  --engine vendor-model,dma

golden halo halo --device sim:h200-4 --nx 512 --ny 300 --engine dma,kernel --scaling strong,weak \
  --norm none,device,delayed --overlap yes
golden halo_graph halo --device sim:mi300x-8 --nx 4096 --engine dma,kernel --graph --verbose

if [[ $update == --update ]]; then
  cp ./* "$expected"
  exit 0
fi
diff --unified "$expected" .
