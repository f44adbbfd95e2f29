# What all parts use. Sourced by on_gpu.sh.

say() { printf '\n== %s (%ss)\n' "$*" "$SECONDS"; }
must() { "$@" || { echo "FAILED ($?): $*"; failed=1; }; }

# How many GPUs programs see.
count_gpus() {
  local seen=${CUDA_VISIBLE_DEVICES-}
  if [[ -n $seen ]]; then tr , '\n' <<< "$seen" | wc -l; else nvidia-smi -L | wc -l; fi
}

# NCCL is where its own package or PyTorch's put it; multicast stays off.
find_nccl() {
  export NCCL_NVLS_ENABLE=0
  local folder
  folder=$(python3 -c 'import nvidia.nccl as n; print(list(n.__path__)[0] + "/lib")' 2>/dev/null) || return 0
  export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

# cuDNN is where PyTorch's package has put it, or with the toolkit.
find_cudnn() {
  local folder
  folder=$(python3 -c 'import nvidia.cudnn as n; print(list(n.__path__)[0] + "/lib")' 2>/dev/null) || return 0
  export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

# One process a GPU, by their environment: ARGUMENT... of duet.
one_process_a_gpu() {
  local gpus rank pids=() code=0
  gpus=$(count_gpus)
  for ((rank = 0; rank < gpus; ++rank)); do
    MASTER_ADDR=127.0.0.1 MASTER_PORT=${PORT:-29517} WORLD_SIZE=$gpus RANK=$rank LOCAL_RANK=$rank \
      timeout -s KILL "${LIMIT:-300}" "$duet" "$@" &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || code=$?; done
  return "$code"
}

# WHAT SECONDS TESTS FILTER: tests under compute-sanitizer's tools. Without a start gate: behind one a
# launch would wait for ever there.
under_sanitizer() {
  local tool flags
  for tool in memcheck racecheck; do
    say "$1: compute-sanitizer, $tool"
    flags=(--tool "$tool" --error-exitcode 9)
    [[ $tool == memcheck ]] && flags+=(--report-api-errors no)
    must timeout -s KILL "$2" compute-sanitizer "${flags[@]}" "$3" --gtest_filter="$4" --gtest_brief=1
  done
}
