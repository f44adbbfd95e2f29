# NCCL's users with Duet's library before NCCL. Sourced by on_gpu.sh.

preloaded() {
  local gpus run=(torchrun --nproc-per-node)
  gpus=$(count_gpus)
  say "kernels of reductions, packets and chunks beside the CPU's code, to the bit"
  must timeout -s KILL 60 "$build/tests/drop_in_kernels_test" --gtest_brief=1
  say "PyTorch on $gpus GPUs by NCCL"
  must timeout -s KILL 150 "${run[@]}" "$gpus" bench/preloaded.py --label NCCL --kinds "${KINDS:-}" \
    > "$out/nccl.txt"
  say "the same, with Duet's library before it"
  must with_library timeout -s KILL 150 "${run[@]}" "$gpus" bench/preloaded.py --label Duet --kinds "${KINDS:-}" \
    > "$out/preloaded.txt"
  say "captured calls by NCCL, and as packets"
  must timeout -s KILL 100 "${run[@]}" "$gpus" bench/preloaded.py --graph --label NCCL > "$out/nccl_graph.txt"
  LD_PRELOAD=$build/nccl_shim/libduet-nccl.so DUET_NCCL_LOG=info DUET_NCCL_PACKETS=1M must timeout -s KILL 100 \
    "${run[@]}" "$gpus" bench/preloaded.py --graph --label packets > "$out/packets_graph.txt"
  cat "$out/nccl.txt" "$out/preloaded.txt" "$out/nccl_graph.txt" "$out/packets_graph.txt"
}

# By turns, since GPUs grow hotter and so slower. LAYERS names some.
preloaded_layers() {
  local gpus turn with
  gpus=$(count_gpus)
  for turn in nccl duet nccl-2 duet-2; do
    with=
    [[ $turn != duet* ]] || with=with_library
    say "layers, $turn"
    must $with timeout -s KILL 120 torchrun --nproc-per-node "$gpus" bench/preloaded_layers.py --label "$turn" \
      --layers "${LAYERS:-}" > "$out/layers-$turn.txt"
    cat "$out/layers-$turn.txt"
  done
}

# A rank that is killed, stopped or ends its communicator at each point of a call: what its peers see, by
# NCCL and with the library; and 10,000 calls with buffers that come and go. CASES names some.
preloaded_ends() {
  find_nccl
  say "ranks that end"
  must timeout -s KILL "${LIMIT:-300}" tests/nccl_shim/ends_on_gpus.sh "$build/tests/ends_on_gpus_test" ${CASES:+"$CASES"} \
    > "$out/ends.txt" 2>&1
  cat "$out/ends.txt"
}

# COMMAND...: with the library before NCCL, which takes over all calls of 64 KiB and more; with
# THRESHOLDS=tuned those that this machine's tuning file has it take over, with NCCL_ENV=--no-packets
# the large ones alone; with THRESHOLDS=kernel collectives of all sizes up to 1 GiB by its kernel of chunks.
with_library() {
  (
    export DUET_NCCL_LOG=info
    if [[ ${THRESHOLDS:-} == tuned ]]; then
      local variables
      variables=$("$duet" nccl-env ${NCCL_ENV:-}) || exit
      export ${variables#env }
    elif [[ ${THRESHOLDS:-} == kernel ]]; then
      export LD_PRELOAD=$build/nccl_shim/libduet-nccl.so DUET_NCCL_KERNEL=1G
    else
      export LD_PRELOAD=$build/nccl_shim/libduet-nccl.so DUET_NCCL_MIN_ALL_GATHER=64K \
        DUET_NCCL_MIN_ALL_TO_ALL=64K DUET_NCCL_MIN_REDUCE_SCATTER=64K DUET_NCCL_MIN_ALL_REDUCE=64K \
        DUET_NCCL_MIN_BROADCAST=64K DUET_NCCL_MIN_SEND_RECV=64K
    fi
    "$@"
  )
}

# Thresholds of this machine, of packets, the kernel of chunks and copies, measured in one process and in
# one a GPU; for THRESHOLDS=tuned. OUT/row.toml has them as specs/tuning ships them.
tune_drop_in() {
  find_nccl
  export DUET_TUNING=$out/tuning.json
  local what=(collective all_gather,all_to_all,broadcast,reduce_scatter,all_reduce,send_recv --device cuda --tune
    -d bfloat16 ${TUNE_OPTIONS:--b 4K -e 1G -f 4 --seconds 0.03})
  say "thresholds in one process"
  must timeout -s KILL "${LIMIT:-250}" "$duet" "${what[@]}" --json "$out/tune-one.jsonl"
  say "thresholds in one process a GPU"
  must one_process_a_gpu "${what[@]}" --json "$out/tune-several.jsonl"
  "$duet" nccl-env
  must "$duet" nccl-env --row "$out/tune-one.jsonl, $out/tune-several.jsonl" > "$out/row.toml"
  cat "$out/row.toml"
}

# Qwen3-8B by FSDP2 and 7b by DDP on two GPUs. Losses of the third step must be the same: in `losses`,
# where all kernels are deterministic, to the last digit; else but for what PyTorch's attention, which
# is not, makes of them.
preloaded_training() {
  find_cudnn
  find_nccl
  local turn part with
  for turn in nccl duet nccl-2 duet-2; do
    with=
    [[ $turn != duet* ]] || with=with_library
    for part in ${PARTS:-fsdp2 ddp losses}; do
      $with preloaded_steps "$part" "$part-$turn" 2>&1 | tee -a "$out/$part-$turn.log"
      [[ $turn != duet* ]] || must grep -q 'by copy engines' "$out/$part-$turn.log"
    done
  done
  for part in ${PARTS:-fsdp2 ddp losses}; do
    must same_losses "$([[ $part == losses ]] && echo 0 || echo 0.001)" "$out/$part"-{nccl,duet,nccl-2,duet-2}.jsonl
  done
}

# PART NAME
preloaded_steps() {
  local common=(--device cuda:0 --ranks 2 --recipe bf16) fast=(--attention cudnn --mode compile-blocks)
  case $1 in
    fsdp2)
      torch_steps "$2" --kind qwen3 "${common[@]}" "${fast[@]}" --parallel fsdp2 --batch 1 \
        --recompute "${RECOMPUTE:-block}"
      ;;
    ddp) torch_steps "$2" --model 7b "${common[@]}" "${fast[@]}" --parallel ddp ;;
    losses)
      SECONDS_EACH=1 torch_steps "$2" --kind qwen3 "${common[@]}" --attention flash --mode eager --deterministic \
        --parallel fsdp2 --batch 1
      ;;
  esac
}

# TOLERANCE JOURNAL...: prints times and losses of steps; fails where losses differ by more, or a journal has none.
same_losses() {
  python3 - "$@" <<'END'
import json, os, sys
losses, tolerance = [], float(sys.argv[1])
print("journal            ms a step  loss of step 3")
for path in sys.argv[2:]:
    measured = [each for each in map(json.loads, open(path)) if each.get("outcome") == "measured"]
    if not measured:
        sys.exit(f"{path}: nothing was measured")
    for record in measured:
        losses.append(float(record["notes"]["early_loss"]))
        print(f"{os.path.basename(path):18}{1e3 * record['seconds']['median']:10.1f}  {losses[-1]:.9g}")
sys.exit(max(losses) > (1 + tolerance) * min(losses))
END
}

# Two GPUs of one thread, of two threads and, where programs built with MPI are there (NAME_perf_mpi), of
# two processes; `#wrong` must be 0.
nccl_tests() {
  find_nccl
  export LD_LIBRARY_PATH="$NCCL_TESTS${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  local program how turn with
  for program in ${PROGRAMS:-all_gather reduce_scatter all_reduce alltoall broadcast sendrecv}; do
    for how in ${NCCL_TESTS_HOW:-thread threads processes}; do
      for turn in nccl duet; do
        with=
        [[ $turn != duet ]] || with=with_library
        say "$program, $how, $turn"
        $with nccl_test "$program" "$how" > "$out/$program-$how-$turn.txt" 2>&1 || { echo "FAILED ($?)"; failed=1; }
        grep -E '^ +[0-9]|Out of bounds|Avg bus|duet-nccl' "$out/$program-$how-$turn.txt" || true
      done
    done
  done
}

# Their options with the library: threads, graphs, calls of several iterations in a group, buffers that are not
# aligned or registered, every type and operation. Where programs built with MPI are there, one rank of two without
# the library, so that all calls are forwarded, and with four GPUs two communicators of two ranks each. They fail
# where data are wrong.
nccl_tests_options() {
  find_nccl
  export LD_LIBRARY_PATH="$NCCL_TESTS${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  local program options=("-t 2 -g 1" "-g 2 -G 10" "-g 2 -m 4" "-g 2 -u 1" "-g 2 -R 1" "-g 2 -R 2" "-g 2 -o all -d all") option
  local gpus path processes=(mpirun --allow-run-as-root --oversubscribe --bind-to none -n)
  rm -f "$out/wrong"
  gpus=$(count_gpus)
  ((gpus < 4)) || options+=("-g 4")
  for program in ${PROGRAMS:-all_gather reduce_scatter all_reduce alltoall broadcast sendrecv}; do
    path=$NCCL_TESTS/${program}_perf
    for option in "${options[@]}"; do with_library checked_data "$program $option" "$path" $option; done
    [[ -x ${path}_mpi ]] || continue
    with_library checked_data "$program, one rank without the library" "${processes[@]}" 2 bash -c \
      '[[ $OMPI_COMM_WORLD_RANK != 0 ]] || unset LD_PRELOAD; exec "$@"' _ "${path}_mpi" -g 1
    ((gpus < 4)) || NCCL_TESTS_SPLIT="MOD 2" with_library checked_data "$program, two of four ranks" \
      "${processes[@]}" 4 "${path}_mpi" -g 1
  done
  ! grep -qs . "$out/wrong" || failed=1
}

# WHAT COMMAND...: of a program of nccl-tests; prints one line.
checked_data() {
  local file="$out/${1//[ ,]/}.txt"
  if timeout -s KILL 60 "${@:2}" -b 4K -e "${LARGEST:-64M}" -f 16 -n 5 -w 2 -c 1 > "$file" 2>&1 &&
    grep -q 'Out of bounds values : 0 OK' "$file"; then
    echo "$1: data are right"
  else
    echo "FAILED: $1: see $file" | tee -a "$out/wrong"
  fi
}

# PROGRAM HOW: runs it, from SMALLEST, 8 bytes, to LARGEST, each size FACTOR times the one before.
nccl_test() {
  local run=("$NCCL_TESTS/$1_perf" -g 2)
  case $2 in
    threads) run=("$NCCL_TESTS/$1_perf" -t 2 -g 1) ;;
    processes)
      [[ -x $NCCL_TESTS/$1_perf_mpi ]] || { echo "left out: no $1_perf_mpi"; return 0; }
      run=(mpirun --allow-run-as-root --bind-to none -n 2 "$NCCL_TESTS/$1_perf_mpi" -g 1)
      ;;
  esac
  timeout -s KILL 60 "${run[@]}" -b "${SMALLEST:-8}" -e "${LARGEST:-2G}" -f "${FACTOR:-16}" -n 10 -w 3 -c 1 ${NCCL_TESTS_OPTIONS:-}
}
