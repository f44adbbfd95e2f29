# Collectives of one machine, and of GPUs as nodes. Sourced by on_gpu.sh.

check_collectives() {
  find_nccl
  say "every collective, type and operation at odd sizes"
  must timeout -s KILL 60 "$duet" collective all --device cuda --engine dma,kernel,auto -d all -o all \
    -b 1000003 -e 50000017 -f 50 -n 3 -w 1 --seconds 0.002 --quiet
  say "own parts that go behind pushes, captured too"
  must timeout -s KILL 60 "$duet" collective all_gather,all_to_all,gather,scatter --device cuda \
    --engine dma -d int8,bfloat16 -b 300000000 -e 300000016 -i 16 -n 3 -w 1 --seconds 0.002 --quiet
  must timeout -s KILL 60 "$duet" collective all_gather,all_to_all --device cuda --engine dma -G 4 \
    -d bfloat16 -b 256M -e 256M --seconds 0.02 --quiet
  say "other works beside each other"
  local pair
  for pair in "gemm:8192x8192x8192 copy:device_to_host:256M" "copy:local:1G:kernel all_gather:1G" \
    "all_reduce:64M all_gather:256M"; do
    must timeout -s KILL 60 "$duet" overlap --device cuda --compute "${pair% *}" \
      --communicate "${pair#* }" --policy serial,base,priority,dma --quiet
  done
  say "captured as graphs"
  must timeout -s KILL 60 "$duet" collective all --device cuda --engine dma,kernel,auto,nccl -G 4 \
    -d bfloat16 -b 64K -e 64M -f 32 --seconds 0.02 --quiet
  say "a process that dies"
  PROCESSES=$(count_gpus) must timeout -s KILL 240 \
    tests/multiprocess/dead_rank.sh "$build/tests/collective_ranks" cuda kernel dma
  say "many calls in a row, two sessions at once, graphs"
  DUET_TEST_GPUS=cuda must timeout -s KILL 120 "$build/tests/collectives_test" --gtest_filter='Machines/*' --gtest_brief=1
  say "what enqueueing costs"
  must timeout -s KILL 100 "$build/tests/enqueue_test"
  say "memory of other kinds"
  must timeout -s KILL 150 tests/gpu/user_memory.sh "$build/tests/user_memory"
  say "compute beside collectives"
  DUET_TEST_GPUS=cuda must timeout -s KILL 120 "$build/tests/runtime_test" --gtest_filter='Machines/*' --gtest_brief=1
  must timeout -s KILL 60 "$build/tests/overlap_streams"
  under_sanitizer "kernels" 60 "$build/tests/conformance_test" '*/Kernels.Reduce*cuda*:*/Kernels.Copy*cuda*'
}

collectives() {
  find_nccl
  local engines=${ENGINES:-nccl,nccl-window,nccl-zero-cta,kernel,dma,auto}
  local collective
  for collective in ${COLLECTIVES:-all_gather all_to_all reduce_scatter all_reduce broadcast}; do
    say "$collective"
    must timeout "${LIMIT:-250}" "$duet" collective "$collective" --device cuda --engine "$engines" \
      -d bfloat16 --json "$out/$collective.jsonl" ${COLLECTIVE_OPTIONS:--b 64K -e 4G -f 4 --seconds 0.08}
  done
}

# Journals from which specs/devices says what collectives should reach: of every engine that measures
# there, at every size, in and out of place, in TURNS runs.
healthy() {
  find_nccl
  quick
  local turn
  for ((turn = 1; turn <= ${TURNS:-2}; ++turn)); do
    say "every engine and size, turn $turn"
    must timeout "${LIMIT:-280}" "$duet" collective all_gather,all_to_all,reduce_scatter,all_reduce,broadcast,send_recv \
      --device cuda --engine "${ENGINES:-auto,dma,kernel,nccl,nccl-window,nccl-zero-cta}" -d bfloat16 -b 8K -e 1G -f 2 \
      --seconds 0.05 --json "$out/healthy-$turn.jsonl" --quiet ${COLLECTIVE_OPTIONS:-}
  done
}

reductions() {
  find_nccl
  say "kernels that add to peers, and reductions made of them"
  must timeout -s KILL 60 "$build/tests/conformance_test" --gtest_filter='*Kernels.AddToPeers*cuda*' --gtest_brief=1
  DUET_TEST_GPUS=cuda must timeout -s KILL 120 "$build/tests/collectives_test" --gtest_filter='Machines/Additions*' --gtest_brief=1
  DUET_REDUCTIONS=in-flight must timeout -s KILL 60 "$duet" collective reduce_scatter,all_reduce --device cuda \
    --engine dma -d all -o all -b 1000003 -e 300000016 -f 17 -n 3 -w 1 --seconds 0.002 --quiet
  DUET_REDUCTIONS=in-flight must timeout -s KILL 60 "$duet" collective reduce_scatter,all_reduce --device cuda \
    --engine dma -G 4 -d bfloat16 -b 64K -e 64M -f 32 --seconds 0.02 --quiet
  local how
  for how in slots in-flight; do
    say "alone, $how"
    DUET_REDUCTIONS=$how must timeout 120 "$duet" collective reduce_scatter,all_reduce --device cuda \
      --engine dma,kernel,nccl -d bfloat16 -b 1M -e 1G -f 4 --seconds 0.08 --json "$out/reductions-$how.jsonl"
    say "beside backward GEMMs, $how"
    DUET_REDUCTIONS=$how must timeout 180 "$duet" overlap training --device cuda --policy serial,base,priority,dma \
      --energy --json "$out/training-$how.jsonl"
  done
}

# Each GPU a process, and a node by --node-size, beside both as one node.
nodes() {
  local flags=(all_gather,all_to_all,reduce_scatter,all_reduce --device cuda --engine dma,kernel -d bfloat16
    --in-place out -b 1M -e 1G -f 32 --seconds 0.05 --quiet)
  say "one node"
  must one_process_a_gpu collective "${flags[@]}" --json "$out/nodes-one.jsonl"
  say "two nodes over shm"
  PORT=29518 must one_process_a_gpu collective "${flags[@]}" --node-size 1 --provider shm --json "$out/nodes-shm.jsonl"
  say "two nodes over shm, staged"
  PORT=29519 must one_process_a_gpu collective "${flags[@]}" --node-size 1 --provider shm --staged \
    --json "$out/nodes-shm-staged.jsonl"
  say "two nodes over tcp"
  PORT=29520 must one_process_a_gpu collective "${flags[@]}" --node-size 1 --provider 'tcp;ofi_rxm' --rails lo \
    --json "$out/nodes-tcp.jsonl"
  python3 - "$out"/nodes-*.jsonl <<'END'
import json, os, sys
print("collective      engine       MiB  journal                   us     GB/s verified  notes")
rows = []
for path in sys.argv[1:]:
    for r in map(json.loads, open(path)):
        if r.get("type") == "result" and r.get("benchmark") == "collective":
            a = r["case"]
            rows.append((a.get("collective", ""), r["engine"], a["bytes"] / 2**20, os.path.basename(path), r))
for collective, engine, size, name, r in sorted(rows, key=lambda row: row[:4]):
    if r.get("outcome") != "measured":
        print(f"{collective:16}{engine:8}{size:8.0f}  {name:22} {r.get('reason', r.get('error', r.get('outcome')))}")
        continue
    print(f"{collective:16}{engine:8}{size:8.0f}  {name:22}{1e6 * r['seconds']['median']:10.1f}"
          f"{r['rates'].get('busbw_gb_per_s', 0):9.1f} {r['verified']}  {r.get('notes', {})}")
END
}

auto() {
  say "auto beside dma and kernel"
  must bench/auto_against_best.sh "$duet" cuda "$out"
}

# Two GPUs or more, one process each. Without the module there is nothing to compare.
packets() {
  find_nccl
  export NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_DISABLE_NVLS=1
  say "all_to_all, one process a GPU, in packets"
  if [[ ! -e $build/modules/duet_nvshmem.so ]]; then
    echo "FAILED: expected $build/modules/duet_nvshmem.so, which is built where CMake finds NVSHMEM (DUET_NVSHMEM)"
    failed=1
    return
  fi
  must one_process_a_gpu collective all_to_all --device cuda -d bfloat16 --in-place out \
    --engine "${ENGINES:-nccl,dma,kernel,nvshmem,nvshmem-block,nvshmem-grid}" \
    --packet "${PACKETS:-4K,64K,1M,16M}" ${COLLECTIVE_OPTIONS:--b 64K -e 1G -f 4 --seconds 0.08} \
    --json "$out/packets.jsonl" --quiet
  packets_table "$out/packets.jsonl"
}

# JOURNAL: bus bandwidth and time by size, engine and packet.
packets_table() {
  python3 - "$1" <<'END'
import json, sys
def short(count):
    units = ["", "K", "M", "G"]
    while count and count % 1024 == 0 and len(units) > 1:
        count, units = count // 1024, units[1:]
    return f"{count}{units[0]}"
cells, engines, columns = {}, [], set()
for r in map(json.loads, open(sys.argv[1])):
    if r.get("benchmark") == "collective" and r.get("outcome") == "measured":
        if r["engine"] not in engines: engines.append(r["engine"])
        column = (engines.index(r["engine"]), r["case"].get("packet", 0))
        columns.add(column)
        cells.setdefault(r["case"]["bytes"], {})[column] = (
            r["rates"]["busbw_gb_per_s"], 1e6 * r["seconds"]["median"], r["verified"])
columns = sorted(columns)
width = max(map(len, engines), default=0) + 3
def line(head, texts): print(f"{head:>8}" + "".join(f"{text:>{width}}" for text in texts))
for place, title, best in ((0, "bus bandwidth, GB/s", max), (1, "time, us", min)):
    print(f"\n{title} (* the best of a size, ! not verified)")
    line("", [engines[engine] for engine, _ in columns])
    line("packet", [short(packet) if packet else "-" for _, packet in columns])
    for size, row in sorted(cells.items()):
        top = best(cell[place] for cell in row.values())
        def text(cell):
            if cell is None: return ""
            return f"{cell[place]:.1f}" + ("*" if cell[place] == top else " ") + (" " if cell[2] else "!")
        line(short(size), [text(row.get(column)) for column in columns])
END
}
