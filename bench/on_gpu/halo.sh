# Halo exchange. Sourced by on_gpu.sh.

check_halo() {
  say "halo exchange: every engine, norm and graph, verified"
  must timeout -s KILL 120 "$build/tests/halo_test" --gtest_filter='Gpus/*' --gtest_brief=1
  must timeout -s KILL 120 "$duet" halo --device cuda --nx 3,37,1028 --ny 64,1001 --norm all --seconds 0.01 --quiet
  must timeout -s KILL 60 "$duet" halo --device cuda --nx 37,2048 --ny 67 --norm none,device,delayed \
    --graph --seconds 0.01 --quiet
  must timeout -s KILL 120 "$duet" halo --device cuda --nx 16384 --norm device --seconds 0.05 --quiet
  say "halo exchange: long graphs, and streams that share queues"
  local long=(halo --device cuda --engine dma,kernel --overlap yes --nx 1024 --ny 64 --norm none,device,delayed
              --seconds 0.01 --quiet)
  must timeout -s KILL 60 "$duet" "${long[@]}" --graph --steps 400
  CUDA_DEVICE_MAX_CONNECTIONS=2 must timeout -s KILL 60 "$duet" "${long[@]}" --steps 40
  under_sanitizer "halo exchange" 120 "$build/tests/halo_test" 'Gpus/*WithoutAGate*'
  if [[ $(count_gpus) -gt 1 ]]; then
    say "halo exchange: several processes, one of which dies"
    PROCESSES=$(count_gpus) must timeout -s KILL 120 tests/multiprocess/halo.sh "$duet" killed cuda
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
  [[ $(count_gpus) -gt 1 ]] && scaling=strong,weak
  must timeout -s KILL "${LIMIT:-500}" "$duet" halo --device cuda --nx "${LARGE:-16384,20480}" \
    --scaling $scaling --norm "${HALO_NORMS:-none,device,host,delayed}" --seconds 0.2 \
    --json "$out/halo-large.jsonl" --quiet
  say "small grids, as graphs and without"
  local graph
  for graph in "" --graph; do
    must timeout -s KILL 200 "$duet" halo --device cuda --nx "${SMALL:-1024,2048,4096,8192}" \
      --scaling ${scaling%,*} --norm none,delayed --seconds 0.05 $graph --json "$out/halo-small$graph.jsonl" --quiet
  done
  halo_table "$out/copy.jsonl" "$out"/halo-*.jsonl
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
