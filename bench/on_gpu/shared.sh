# What needs several ranks, on one GPU that two ranks share. Sourced by on_gpu.sh.

# PROGRAM ARGUMENT...: two processes, each of which has rank 0's GPU.
two_on_one_gpu() {
  local rank pids=() code=0
  for rank in 0 1; do
    MASTER_ADDR=127.0.0.1 MASTER_PORT=${PORT:-29519} WORLD_SIZE=2 RANK=$rank \
      timeout -s KILL "${LIMIT:-100}" "$@" --device cuda:0 &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || code=$?; done
  return "$code"
}

check_shared() {
  say "two ranks of one process: what devices do"
  must timeout 200 "$build/tests/conformance_test" --gtest_filter='*cuda_0_2*' --gtest_brief=1
  # Not racecheck, under which kernels that wait for each other do not end.
  say "packets: compute-sanitizer, memcheck"
  must timeout -s KILL 100 compute-sanitizer --tool memcheck --error-exitcode 9 --report-api-errors no \
    "$build/tests/conformance_test" --gtest_filter='*PacketKernels*cuda_0_2*' --gtest_brief=1
  say "two processes: collectives and experts, every result verified"
  must two_on_one_gpu "$duet" collective all --engine dma,kernel -b 1K -e 4M -f 64 --seconds 0.01
  must two_on_one_gpu "$duet" moe --hidden 256 --width 256 --experts 16 --top-k 4 --tokens 64,300 \
    --engine dma,kernel --seconds 0.01 --tuning-seconds 0.1
}
