# NCCL's users with Duet's library before NCCL. Sourced by on_gpu.sh.

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
