#!/usr/bin/env bash
# Checks and measures Duet on a machine with NVIDIA GPUs, from a build folder made there or elsewhere.
#   bench/on_gpu.sh check        the gpu tests, every engine verified, compute-sanitizer
#   bench/on_gpu.sh gemm OUT     the studies' shapes, journals into OUT; beside torch.matmul
#   bench/on_gpu.sh quick OUT    the suite quick on the GPUs with --check, its journal and report
#   bench/on_gpu.sh check_collectives   every one checked, captured, by processes of which one dies
#   bench/on_gpu.sh collectives OUT   Duet's beside NCCL's, journals into OUT; COLLECTIVES names some
#   bench/on_gpu.sh reductions OUT   through slots and added in flight: checked, alone, beside GEMMs
#   bench/on_gpu.sh preloaded OUT   PyTorch's collectives by NCCL, and with Duet's library before it; its kernels checked
#   bench/on_gpu.sh preloaded_training OUT   PyTorch's FSDP2 and DDP by NCCL, and with Duet's library before it
#   bench/on_gpu.sh nccl_tests OUT   programs of nccl-tests in the folder NCCL_TESTS, by NCCL and with Duet's library
#   bench/on_gpu.sh nodes OUT    two GPUs as two nodes, over shm and tcp, beside one node
#   bench/on_gpu.sh auto OUT     how near the engine auto comes to the better of dma and kernel
#   bench/on_gpu.sh copy OUT     every copy, journals into OUT; beside plain cudaMemcpyAsync
#   bench/on_gpu.sh overlap OUT  GEMMs beside collectives; SCENARIOS, OVERLAP_OPTIONS choose
#   bench/on_gpu.sh check_halo   halo exchange: every point to the bit, graphs, compute-sanitizer, a process that dies
#   bench/on_gpu.sh halo OUT     sweeps beside the driver's copy, every engine and norm, small grids, scaling
#   bench/on_gpu.sh halo_processes OUT   one process a GPU: NVSHMEM's engines beside the others
#   bench/on_gpu.sh packets OUT   all_to_all, one process a GPU: NVSHMEM begun by the host, one block or many, in
#                                packets of several sizes, beside nccl, dma and kernel; PACKETS names sizes
#   bench/on_gpu.sh fabric OUT   writes between two processes, direct and by a proxy for GPU threads
#   bench/on_gpu.sh fabric_memory OUT   of it what is between GPUs' own memory
#   bench/on_gpu.sh node OUT     a whole node at once: all pairs, collectives to 13 GiB, the paper's overlap
#   bench/on_gpu.sh advise OUT   the advisor's table, scored by JOURNAL; the isolated picture
#   bench/on_gpu.sh check_train  training's kernels beside the host's, and under compute-sanitizer
#   bench/on_gpu.sh parallel OUT  training steps on several GPUs by each engine, beside PyTorch's: ddp and
#                                zero3 beside FSDP2; PARTS, MODELS, RECIPES, BATCHES name some,
#                                GPUS says how many; KEEP_GATHERED=yes: zero3 gathers once a step
#   bench/on_gpu.sh qwen3 OUT    steps of Qwen3-8B and of its adapters on one GPU, beside PyTorch's;
#                                PARTS, RECIPES, TURNS name some
#   bench/on_gpu.sh train OUT    training steps beside PyTorch's, model by model; MODELS, RECIPES,
#                                TORCH_MODES, ATTENTIONS name some
#   bench/on_gpu.sh curves OUT   losses of 50 steps on a text in fp32, amp and bf16, and the memory of 1,000
# BUILD names the build folder (default: build; bench/pack.sh makes one to carry elsewhere). CI builds kernels in a hurry, by -Xcicc -O1 -Xptxas -O1:
# what is measured must be built without these flags; reductions take ten times as long with them.
set -uo pipefail
shopt -s nullglob
cd "$(dirname "$0")/.."
build=${BUILD:-build}
duet=$build/duet
out=${2:-.}
failed=0
say() { printf '\n== %s (%ss)\n' "$*" "$SECONDS"; }
must() { "$@" || { echo "FAILED ($?): $*"; failed=1; }; }

check() {
  must "$duet" info
  say "conformance"
  must timeout 120 "$build/tests/conformance_test" --gtest_filter='*cuda*' --gtest_brief=1
  say "every engine, layout and dtype at odd and small shapes, verified"
  must timeout 200 "$duet" gemm --device cuda:0 --shapes 256x512x128,1000x1000x1000,130x264x72 \
    --dtype fp32,tf32,fp16,bf16,fp8_e4m3,int8 --layout nn,nt --tuning-seconds 0.5 --seconds 0.02
  say "a copy beside a GEMM"
  must timeout 60 "$build/tests/one_warp_copy_test" --gtest_brief=1
  must timeout 60 "$build/bench/bench_copy_beside_gemm" cuda:0
  # The list without flags: under the sanitizer a launch waits for the one before it, and so for
  # ever behind a stream that waits. Running out of memory is one of its cases, and no error.
  say "compute-sanitizer"
  must timeout 200 compute-sanitizer --report-api-errors no --error-exitcode 9 "$build/tests/conformance_test" \
    --gtest_filter='*Copies*cuda*:*Memory*cuda*' --gtest_brief=1
}

quick() {
  say "duet run quick"
  must timeout "${LIMIT:-300}" "$duet" run quick --device cuda --check --json "$out/quick.jsonl" --report
}

gemm() {
  say "beside torch.matmul"
  export PYTHONUNBUFFERED=1
  must timeout "${LIMIT:-560}" python3 bench/gemm_against_torch.py --duet "$duet" --out "$out" \
    --cache "$out/tuning.json" ${TORCH_OPTIONS:-}
}

copy() {
  say "plain cudaMemcpyAsync"
  must "$build/bench/bench_cuda_memcpy"
  say "duet copy"
  must timeout "${LIMIT:-400}" "$duet" copy --device cuda --json "$out/copy.jsonl" ${COPY_OPTIONS:-}
  say "kernel copies over grid x block"
  must timeout 100 "$duet" copy --device cuda --json "$out/copy-grid.jsonl" --kind peer,local \
    --executor kernel --pattern pair --sizes 256M --pairs 0-1 --matrix 0 --one-way \
    --grid 1,2,4,8,16,32,66,132,264 --block 64,128,256,512,1024 --quiet
  say "plain cudaMemcpyAsync again"
  must "$build/bench/bench_cuda_memcpy"
}

# NCCL is where its own package or PyTorch's put it; multicast stays off.
find_nccl() {
  export NCCL_NVLS_ENABLE=0
  local folder
  folder=$(python3 -c 'import nvidia.nccl as n; print(list(n.__path__)[0] + "/lib")' 2>/dev/null) || return 0
  export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

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
  PROCESSES=$(nvidia-smi -L | wc -l) must timeout -s KILL 240 \
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
  local tool
  for tool in memcheck racecheck; do
    say "compute-sanitizer: kernels, $tool"
    must timeout -s KILL 60 compute-sanitizer --tool $tool --error-exitcode 9 $([[ $tool == memcheck ]] && echo --report-api-errors no) \
      "$build/tests/conformance_test" --gtest_filter='*/Kernels.Reduce*cuda*:*/Kernels.Copy*cuda*' --gtest_brief=1
  done
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

preloaded() {
  local gpus run=(torchrun --nproc-per-node)
  gpus=$(nvidia-smi -L | wc -l)
  say "kernels of reductions beside the CPU's code, to the bit"
  must timeout -s KILL 60 "$build/tests/kernels_of_reductions_test" --gtest_brief=1
  say "PyTorch on $gpus GPUs by NCCL"
  must timeout -s KILL 150 "${run[@]}" "$gpus" bench/preloaded.py --label NCCL > "$out/nccl.txt"
  say "the same, with Duet's library before it"
  must with_library timeout -s KILL 150 "${run[@]}" "$gpus" bench/preloaded.py --label Duet > "$out/preloaded.txt"
  say "captured calls by NCCL, and as packets"
  must timeout -s KILL 100 "${run[@]}" "$gpus" bench/preloaded.py --graph --label NCCL > "$out/nccl_graph.txt"
  LD_PRELOAD=$build/nccl_shim/libduet-nccl.so DUET_NCCL_LOG=info DUET_NCCL_PACKETS=1M must timeout -s KILL 100 \
    "${run[@]}" "$gpus" bench/preloaded.py --graph --label packets > "$out/packets_graph.txt"
  cat "$out/nccl.txt" "$out/preloaded.txt" "$out/nccl_graph.txt" "$out/packets_graph.txt"
}

# COMMAND...: with the library before NCCL, which takes over all calls of 64 KiB and more.
with_library() {
  (
    export LD_PRELOAD=$build/nccl_shim/libduet-nccl.so DUET_NCCL_LOG=info DUET_NCCL_MIN_ALL_GATHER=64K \
      DUET_NCCL_MIN_ALL_TO_ALL=64K DUET_NCCL_MIN_REDUCE_SCATTER=64K DUET_NCCL_MIN_ALL_REDUCE=64K \
      DUET_NCCL_MIN_BROADCAST=64K
    "$@"
  )
}

# Qwen3-8B by FSDP2 and 7b by DDP on two GPUs; losses of the third step must be the same.
preloaded_training() {
  find_cudnn
  find_nccl
  local common=(--device cuda:0 --ranks 2 --recipe bf16 --attention cudnn --mode compile-blocks) turn part with
  for turn in nccl duet nccl-2 duet-2; do
    with=
    [[ $turn != duet* ]] || with=with_library
    for part in ${PARTS:-fsdp2 ddp}; do
      case $part in
        fsdp2)
          $with torch_steps "fsdp2-$turn" --kind qwen3 "${common[@]}" --parallel fsdp2 --batch 1 \
            --recompute "${RECOMPUTE:-block}"
          ;;
        ddp) $with torch_steps "ddp-$turn" --model 7b "${common[@]}" --parallel ddp ;;
      esac
    done
  done
  must same_losses "$out"/{fsdp2,ddp}-*.jsonl
}

# JOURNAL...: prints times and losses of steps; fails where journals of one model have different losses.
same_losses() {
  python3 - "$@" <<'END'
import json, os, sys
losses = {}
print("journal            ms a step  loss of step 3")
for path in filter(os.path.exists, sys.argv[1:]):
    for record in map(json.loads, open(path)):
        if record.get("outcome") == "measured":
            loss = record["notes"]["early_loss"]
            losses.setdefault(record["case"]["model"], set()).add(loss)
            print(f"{os.path.basename(path):18}{1e3 * record['seconds']['median']:10.1f}  {loss}")
sys.exit(not losses or any(len(each) > 1 for each in losses.values()))
END
}

# Two GPUs of one process and of two threads; `#wrong` must be 0.
nccl_tests() {
  find_nccl
  local program threads turn with
  for program in ${PROGRAMS:-all_gather reduce_scatter all_reduce alltoall broadcast sendrecv}; do
    for threads in 1 2; do
      for turn in nccl duet; do
        say "$program, $threads thread(s), $turn"
        with=
        [[ $turn != duet ]] || with=with_library
        $with timeout -s KILL 60 "$NCCL_TESTS/${program}_perf" -b 8 -e "${LARGEST:-2G}" -f 16 -t $threads \
          -g $((2 / threads)) -n 10 -w 3 -c 1 ${NCCL_TESTS_OPTIONS:-} \
          > "$out/$program-$threads-$turn.txt" 2>&1 || { echo "FAILED ($?)"; failed=1; }
        grep -E '^ +[0-9]|Out of bounds|Avg bus|duet-nccl' "$out/$program-$threads-$turn.txt" || true
      done
    done
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

check_halo() {
  say "halo exchange: every engine, norm and graph, verified"
  must timeout -s KILL 120 "$build/tests/halo_test" --gtest_filter='Gpus/*' --gtest_brief=1
  must timeout -s KILL 120 "$duet" halo --device cuda --nx 3,37,1028 --ny 64,1001 --norm all --seconds 0.01 --quiet
  must timeout -s KILL 60 "$duet" halo --device cuda --nx 37,2048 --ny 67 --norm none,device,delayed \
    --graph --seconds 0.01 --quiet
  must timeout -s KILL 120 "$duet" halo --device cuda --nx 16384 --norm device --seconds 0.05 --quiet
  # Without a start gate: behind one a launch would wait for ever under the sanitizer.
  local tool
  for tool in memcheck racecheck; do
    say "halo exchange: compute-sanitizer, $tool"
    must timeout -s KILL 120 compute-sanitizer --tool $tool --error-exitcode 9 $([[ $tool == memcheck ]] && echo --report-api-errors no) \
      "$build/tests/halo_test" --gtest_filter='Gpus/*WithoutAGate*' --gtest_brief=1
  done
  if [[ $(nvidia-smi -L | wc -l) -gt 1 ]]; then
    say "halo exchange: several processes, one of which dies"
    PROCESSES=$(nvidia-smi -L | wc -l) must timeout -s KILL 120 tests/multiprocess/halo.sh "$duet" killed cuda
  fi
}

# LARGE and SMALL name grids, HALO_NORMS norms. Each figure also as a share of the driver's local copy.
halo() {
  find_nccl
  say "shapes of tiles beside the driver's copy"
  must timeout 60 "$build/bench/bench_halo_sweep" 16384
  say "the driver's local copy"
  must timeout 60 "$duet" copy --device cuda --kind local --executor dma --sizes 1G --json "$out/copy.jsonl" --quiet
  say "large grids"
  local scaling=none
  [[ $(nvidia-smi -L | wc -l) -gt 1 ]] && scaling=strong,weak
  must timeout -s KILL "${LIMIT:-500}" "$duet" halo --device cuda --nx "${LARGE:-16384,20480}" \
    --scaling $scaling --norm "${HALO_NORMS:-none,device,delayed}" --seconds 0.2 \
    --json "$out/halo-large.jsonl" --quiet
  say "small grids, as graphs and without"
  local graph
  for graph in "" --graph; do
    must timeout -s KILL 200 "$duet" halo --device cuda --nx "${SMALL:-1024,2048,4096,8192}" \
      --scaling ${scaling%,*} --norm none,delayed --seconds 0.05 $graph --json "$out/halo-small$graph.jsonl" --quiet
  done
  halo_table "$out/copy.jsonl" "$out"/halo-*.jsonl
}

# One process a GPU, by their environment: ARGUMENT... of duet.
one_process_a_gpu() {
  local gpus rank pids=() code=0
  gpus=$(nvidia-smi -L | wc -l)
  for ((rank = 0; rank < gpus; ++rank)); do
    MASTER_ADDR=127.0.0.1 MASTER_PORT=${PORT:-29517} WORLD_SIZE=$gpus RANK=$rank LOCAL_RANK=$rank \
      timeout -s KILL "${LIMIT:-300}" "$duet" "$@" &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || code=$?; done
  return "$code"
}

# Two GPUs or more, one process each: NVSHMEM's engines beside the others, where their module is built.
halo_processes() {
  find_nccl
  export NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_DISABLE_NVLS=1
  local engines=dma,kernel,nccl
  [[ -e $build/modules/duet_nvshmem.so ]] && engines+=,nvshmem-p,nvshmem-block,nvshmem-signal
  say "halo exchange, one process a GPU: $engines"
  must one_process_a_gpu halo --device cuda --engine $engines --nx "${LARGE:-2048,4096,8192,16384,20480}" \
    --scaling strong --norm none,delayed --seconds 0.1 --json "$out/halo-processes.jsonl"
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

# COPY HALO...: milliseconds of an iteration, GB/s of all ranks, and GB/s of a rank over the copy's.
halo_table() {
  python3 - "$@" <<'END'
import json, sys
def records(name):
    return [r for r in map(json.loads, open(name)) if r.get("outcome") == "measured" and "seconds" in r]
copies = [r["rates"]["gb_per_s"] for r in records(sys.argv[1]) if r["benchmark"] == "copy"]
copy = max(copies, default=0)
print(f"the driver's local copy: {copy:.0f} GB/s\n")
print("     nx scaling ranks graph norm    engine  overlap        ms     GB/s  of the copy  verified")
for name in sys.argv[2:]:
    for r in (r for r in records(name) if r["benchmark"] == "halo"):
        a, rate = r["case"], r["rates"]["gb_per_s"]
        share = rate / a["ranks"] / copy if copy else 0
        print(f"{a['nx']:7} {a['scaling']:7} {a['ranks']:5} {'yes' if a['graph'] else 'no':5} "
              f"{a['norm']:7} {r['engine']:8}{'yes' if a['overlap'] else 'no':7}"
              f"{1e3 * r['seconds']['median']:10.4f} {rate:8.0f} {share:12.3f}  {r['verified']}")
END
}

overlap() {
  find_nccl
  local scenarios=${SCENARIOS:-paper}
  say "overlap: $scenarios"
  must timeout "${LIMIT:-580}" "$duet" overlap "$scenarios" --device cuda \
    --json "$out/$(basename "${scenarios//,/_}" .toml).jsonl" ${OVERLAP_OPTIONS:---units 8,32}
}

# Each of its parts fits into ten minutes on eight GPUs; PARTS names some.
node() {
  find_nccl
  local part
  for part in ${PARTS:-pairs collectives large overlap}; do
    case $part in
      pairs)
        say "copies: one way, both ways, every pair, all at once"
        must timeout "${LIMIT:-400}" "$duet" copy --device cuda --kind peer --seconds 0.05 \
          --json "$out/copy.jsonl"
        ;;
      collectives)
        COLLECTIVES=${COLLECTIVES:-all_gather all_to_all reduce_scatter all_reduce} collectives
        ;;
      large)
        say "collectives of 13 GiB"
        must timeout "${LIMIT:-250}" "$duet" collective all_gather,all_to_all,reduce_scatter,all_reduce \
          --device cuda --engine nccl,nccl-window,nccl-zero-cta,dma,auto -d bfloat16 -b 13G -e 13G \
          --seconds 0.3 --json "$out/13GiB.jsonl"
        ;;
      overlap)
        OVERLAP_OPTIONS=${OVERLAP_OPTIONS:---policy base,priority,zero-cta,dma,dma+partition --units 8} overlap
        ;;
    esac
  done
}

advise() {
  find_nccl
  export DUET_ADVICE=$out/advice.json
  say "the advisor's table"
  must timeout "${LIMIT:-300}" "$duet" advise --measure --device cuda --json "$out/advise.jsonl" \
    --collectives "${COLLECTIVES:-all_gather,all_to_all}"
  must "$duet" advise --table "$out/advise.jsonl" \
    --score "${JOURNAL:-docs/results/h200-4/overlap/paper.jsonl}"
  say "the isolated picture"
  must timeout "${LIMIT:-300}" "$duet" overlap paper --isolated --device cuda --json "$out/isolated.jsonl"
}

# cuDNN is where PyTorch's package has put it, or with the toolkit.
find_cudnn() {
  local folder
  folder=$(python3 -c 'import nvidia.cudnn as n; print(list(n.__path__)[0] + "/lib")' 2>/dev/null) || return 0
  export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

check_train() {
  find_cudnn
  say "training: kernels beside the host's"
  must timeout 200 "$build/tests/training_test" --gtest_filter='*cuda*'
  say "captured memsets"
  must timeout 60 "$build/tests/graph_fills_test" --gtest_brief=1
  say "training: products of engines"
  must timeout 100 "$duet" gemm --device cuda:0 --shapes 256x512x128,136x264x72 --dtype fp32,bf16 \
    --layout nn,nt,tn --accumulate --tuning-seconds 0.3 --seconds 0.02 --quiet
  local epilogue
  for epilogue in gelu gelu_backward; do
    must timeout 60 "$duet" gemm --device cuda:0 --shapes 256x512x128,136x264x72,8192x3072x768 \
      --dtype bf16 --layout nn,nt --engine cublaslt,cublaslt-tuned --epilogue $epilogue \
      --tuning-seconds 0.3 --seconds 0.02 --quiet
  done
  say "training: a step of a shortened Qwen3, verified"
  must timeout 100 "$duet" train qwen3 --device cuda:0 --layers 2 --sequence 1024 \
    --recipe amp,bf16,fp8 --iterations 3 --quiet
  must timeout 100 "$duet" train qwen3 --device cuda:0 --layers 2 --sequence 1024 --lora 16 \
    --recipe bf16,fp8 --iterations 3 --quiet
  say "training: compute-sanitizer"
  must timeout 250 compute-sanitizer --report-api-errors no --error-exitcode 9 \
    "$build/tests/training_test" --gtest_filter='*Embed*cuda*:*Normalise*cuda*:*Rotate*cuda*:*Gate*cuda*:*Loss*cuda*:*Blocks*cuda*:*Quantise*cuda*:*Gpt*cuda*' \
    --gtest_brief=1
}

# A journal of Duet's steps, which goes on where it was cut off: NAME FLAG...
duet_steps() {
  local name=$1
  shift
  say "$name"
  must timeout -s KILL "${LIMIT:-240}" "$duet" train "$@" --seconds "${SECONDS_EACH:-5}" --warm-up 1 --verbose \
    --tuning-seconds "${TUNING_SECONDS:-6}" \
    --tuning-cache "$out/tuning.json" --json "$out/$name.jsonl" --resume
}

# Likewise of PyTorch's. A row that fails is a result, such as a batch that has no room.
torch_steps() {
  local name=$1
  shift
  say "$name"
  if grep -qs '"type":"end"' "$out/$name.jsonl"; then
    echo "measured before"
    return
  fi
  rm -f "$out/$name.jsonl"
  PYTHONUNBUFFERED=1 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True \
    timeout -s KILL "${LIMIT:-240}" python3 bench/train_torch.py "$@" \
    --seconds "${SECONDS_EACH:-5}" --limit "${ROW_LIMIT:-200}" --json "$out/$name.jsonl" ||
    echo "train_torch.py: $?"
}

# NAME FLAG...: ENGINES in their order and then in the reverse one, since GPUs grow hotter and so slower.
duet_by_turns() {
  local name=$1 engines=${ENGINES:-none,dma,nccl}
  shift
  duet_steps "$name-1" "$@" --engine "$engines"
  duet_steps "$name-2" "$@" --engine "$(tr , '\n' <<< "$engines" | tac | paste -sd ,)"
}

beside_torch() {
  say "beside PyTorch"
  must python3 bench/beside_torch.py "$@"
}

# Two GPUs or more, of which GPUS (2) train beside PyTorch. Each of its parts fits into ten minutes;
# PARTS names some, and what they have measured is not measured again.
parallel() {
  find_cudnn
  find_nccl
  gpus=${GPUS:-2}
  devices=cuda:$(seq -s , 0 $((gpus - 1)))
  local part
  for part in ${PARTS:-check small power ddp zero3 recompute}; do parallel_$part; done
}

parallel_check() {
  say "training on all GPUs: tests"
  must timeout 200 "$build/tests/training_test" --gtest_filter='*Buckets*cuda*:*Sharded*cuda*' \
    --gtest_brief=1
  say "PyTorch's side: tests"
  must timeout -s KILL 380 python3 bench/check_train_torch.py
}

parallel_small() {
  local way
  for way in ddp zero3; do
    say "$way: small, verified"
    must timeout 200 "$duet" train gpt --device cuda --model small --recipe amp,bf16 --parallel $way \
      --engine none,dma,kernel,auto,nccl --seconds 1 --warm-up 0.3 \
      --tuning-cache "$out/tuning.json" --json "$out/$way-small.jsonl" --resume
  done
}

# Each model on one GPU and, by DDP, on several. PyTorch by cuDNN's attention, which is the faster one
# on Hopper, and by the one that it chooses itself.
parallel_ddp() {
  local model attention recipe=${RECIPES:-bf16} files=()
  for model in ${MODELS:-7b}; do
    local name=ddp-$model own=(--model "$model" --recipe "$recipe")
    local ddp=("${own[@]}" --device cuda:0 --ranks "$gpus" --parallel ddp --bucket-mb "${BUCKET_MB:-25}")
    duet_steps "$name-1-duet" gpt --device cuda:0 "${own[@]}"
    for attention in ${ATTENTIONS:-cudnn auto}; do
      torch_steps "$name-1-torch-$attention" --device cuda:0 "${own[@]}" --attention "$attention" \
        --mode "${TORCH_MODES:-graph}"
    done
    duet_by_turns "$name-$gpus-duet" gpt --device "$devices" "${own[@]}" --parallel ddp
    for attention in ${ATTENTIONS:-cudnn auto}; do
      torch_steps "$name-$gpus-torch-$attention" "${ddp[@]}" --attention "$attention" \
        --mode "${TORCH_DDP_MODES:-compile-blocks}"
    done
    torch_steps "$name-$gpus-torch-alone" "${ddp[@]}" --attention cudnn --no-communication
    files+=("$out/$name"-[0-9]-*.jsonl)
  done
  beside_torch "${files[@]}"
}

# What copies and links that are awake cost beside GEMMs, which a step's collectives are held against.
parallel_power() {
  say "copies of several rates beside GEMMs"
  must timeout 200 "$build/bench/bench_gemm_beside_copies" "$devices" 1.5 > "$out/gemm_beside_copies.txt"
  cat "$out/gemm_beside_copies.txt"
}

parallel_zero3() { zero3_beside_fsdp2 none "${BATCHES:-1 2}"; }
parallel_recompute() { zero3_beside_fsdp2 block "${BATCHES:-1 4}"; }

# Qwen3-8B on several GPUs: what is recomputed, and batches.
zero3_beside_fsdp2() {
  local batch attention name files=()
  for batch in $2; do
    name=zero3-qwen3-$1-$batch${KEEP_GATHERED:+-kept}
    local flags=(--batch "$batch" --recipe "${RECIPES:-bf16}" --recompute "$1"
      ${KEEP_GATHERED:+--keep-gathered})
    duet_by_turns "$name-duet" qwen3 --device "$devices" "${flags[@]}" --parallel zero3
    for attention in ${ATTENTIONS:-cudnn auto}; do
      torch_steps "$name-torch-$attention" --kind qwen3 --device cuda:0 --ranks "$gpus" "${flags[@]}" \
        --parallel fsdp2 --attention "$attention"
    done
    files+=("$out/$name"-*.jsonl)
  done
  beside_torch "${files[@]}"
}

# Qwen3-8B on one GPU, whole and with adapters, Duet and PyTorch by turns. Parts as parallel's.
qwen3() {
  find_cudnn
  local part
  for part in ${PARTS:-whole recompute lora}; do
    case $part in
      whole) qwen3_by_turns whole ;;
      recompute) qwen3_by_turns recompute --recompute block ;;
      lora) qwen3_by_turns lora --lora "${LORA:-16}" ;;
    esac
  done
}

# NAME FLAG...: of both programs. Each way of PyTorch's follows a run of Duet's, which has fp8 too.
qwen3_by_turns() {
  local name=qwen3-$1 turn
  shift
  local flags=(--batch "${BATCH:-1}" "$@")
  for turn in ${TURNS:-compile-blocks:cudnn compile:cudnn compile:auto}; do
    duet_steps "$name-duet-${turn/:/-}" qwen3 --device cuda:0 --recipe "${RECIPES:-bf16,fp8}" \
      "${flags[@]}" --breakdown
    torch_steps "$name-torch-${turn/:/-}" --kind qwen3 --device cuda:0 --recipe bf16 "${flags[@]}" \
      --mode "${turn%:*}" --attention "${turn#*:}"
  done
  beside_torch "$out/$name"-*.jsonl
}

# ATTENTIONS= leaves PyTorch out.
train() {
  find_cudnn
  local model attention
  for model in ${MODELS:-small medium}; do
    local flags=(--device cuda:0 --model "$model" --recipe "${RECIPES:-amp,bf16}")
    duet_steps "duet-$model" gpt "${flags[@]}" --breakdown ${TRAIN_OPTIONS:-}
    for attention in ${ATTENTIONS-auto cudnn}; do
      torch_steps "torch-$model-$attention" "${flags[@]}" --attention "$attention" \
        --mode "${TORCH_MODES:-graph,graph-blocks}"
    done
  done
  beside_torch "$out"/duet-*.jsonl "$out"/torch-*.jsonl
}

# PREFIX RECIPE...: losses of PREFIX-RECIPE.jsonl beside the first one's.
compare_losses() {
  python3 - "$@" <<'END'
import json, sys
prefix, *recipes = sys.argv[1:]
curves = {}
for recipe in recipes:
    for line in open(f"{prefix}-{recipe}.jsonl"):
        record = json.loads(line)
        if record["type"] == "result":
            curves[recipe] = record["curves"]["loss"]
first = curves[recipes[0]]
def means(losses, steps=20):
    return [sum(losses[i:i + steps]) / steps for i in range(0, len(losses) - steps + 1, steps)]
def most(losses, others):
    return 100 * max(abs(a / b - 1) for a, b in zip(losses, others))
for recipe, losses in curves.items():
    print(f"{recipe}: first {losses[0]:.4f}, last {losses[-1]:.4f}, off {recipes[0]} by at most "
          f"{most(losses, first):.2f}% a step, {most(means(losses), means(first)):.2f}% a mean of 20")
END
}

# The text is this project's own; bits repeat with the tuning cache.
curves() {
  find_cudnn
  cat README.md ARCHITECTURE.md docs/*.md | head -c 108000 > "$out/text"
  local flags=(--device cuda:0 --model small --batch 8 --sequence 256 --data "$out/text" --seed 1
    --tuning-cache "$out/tuning.json" --quiet)
  local recipe
  for recipe in fp32 amp bf16; do
    say "50 steps in $recipe"
    must timeout "${LIMIT:-100}" "$duet" train gpt "${flags[@]}" --recipe $recipe --steps 50 \
      --json "$out/curve-$recipe.jsonl"
  done
  compare_losses "$out/curve" fp32 amp bf16
  # amp tells how far two runs differ that differ by rounding alone.
  for recipe in bf16 amp fp8; do
    say "Qwen3 of 4 blocks: 200 steps in $recipe"
    must timeout "${LIMIT:-100}" "$duet" train qwen3 --device cuda:0 --layers 4 --sequence 512 --batch 4 \
      --recipe $recipe --data "$out/text" --steps 200 --seed 1 --learning-rate 1e-4 --warm-up-steps 50 \
      --tuning-cache "$out/tuning.json" --quiet --json "$out/curve-qwen3-$recipe.jsonl"
  done
  compare_losses "$out/curve-qwen3" bf16 amp fp8
  say "1,000 steps"
  "$duet" train gpt "${flags[@]}" --recipe bf16 --steps 1000 &
  local run=$!
  while sleep 0.5 && kill -0 $run 2>/dev/null; do
    echo "memory used: $(nvidia-smi -i 0 --query-gpu=memory.used --format=csv,noheader)"
  done
  must wait $run
}

# Both processes on the first GPU: what is measured is who posts, and from which memory.
fabric() {
  say "threads that push"
  must timeout -s KILL 100 "$build/tests/producers_test" --gtest_brief=1
  local provider
  for provider in shm tcp; do
    say "writes over $provider"
    must timeout "${LIMIT:-200}" "$duet" fabric write --device cuda:0 --provider $provider \
      $([[ $provider == tcp ]] && echo --rails lo) --memory host,pinned --sizes 256K,1M,16M,256M --window 8 \
      --issue direct,blocking,nonblocking --producers 1,16,128 --seconds 0.2 --warm-up 0.05 \
      --json "$out/fabric-$provider.jsonl" ${FABRIC_OPTIONS:-}
  done
  fabric_memory
  say "the fifo alone"
  must timeout 100 "$duet" fabric write --device cuda:0 --provider shm --sizes 1M --window 1 --fifo \
    --producers 1,4,16,64,128 --fifo-memory pinned,managed,device --seconds 0.3 \
    --json "$out/fabric-fifo.jsonl"
}

# The GPU's own memory, by each way that there is; and pushed by blocks of the GPU.
fabric_memory() {
  local way
  for way in shm:auto shm:staged tcp:auto shm:direct; do
    say "the GPU's own memory, $way"
    must timeout "${LIMIT:-200}" "$duet" fabric send_recv,write,write_imm,read \
      --device "${FABRIC_DEVICE:-cuda:0}" --provider "${way%:*}" \
      $([[ ${way%:*} == tcp ]] && echo --rails lo) --memory device --memory-path "${way#*:}" \
      --sizes 64K,1M,16M,256M --window 1,8 --seconds 0.2 --warm-up 0.05 \
      --json "$out/fabric-memory-${way/:/-}.jsonl"
  done
  say "the GPU's own memory, pushed by its blocks"
  must timeout "${LIMIT:-200}" "$duet" fabric write --device "${FABRIC_DEVICE:-cuda:0}" \
    --provider shm --memory device --sizes 256K,1M,16M --window 8 --seconds 0.2 --warm-up 0.05 \
    --issue direct,blocking,nonblocking --producers 1,16,128 --json "$out/fabric-memory-proxy.jsonl"
}

case "${1:-}" in
  check | gemm | quick | check_collectives | collectives | reductions | preloaded | preloaded_training | nccl_tests | nodes | auto | copy | overlap | \
    check_halo | halo | halo_processes | packets | fabric | fabric_memory | node | advise | check_train | parallel | \
    qwen3 | train | curves) "$1" ;;
  *)
    sed -n '2,/^# what is measured/s/^# *//p' "$0" >&2
    exit 2
    ;;
esac
say "done"
exit "$failed"
