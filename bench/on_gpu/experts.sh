# Layers of a mixture of experts, and grouped GEMMs. Sourced by on_gpu.sh.

check_moe() {
  find_nccl
  say "moe: operations of experts beside the host's; every exchange verified, on streams and captured"
  must "$build/tests/training_test" --gtest_filter='*Experts*' --gtest_brief=1
  must "$build/tests/moe_test" --gtest_brief=1
  under_sanitizer "operations of experts" 100 "$build/tests/training_test" '*Experts*cuda*'
}

# Every exchange by turns with the experts alone. MODEL, TOKENS, ENGINES, ROUTING choose; DEVICE.
moe() {
  find_nccl
  local options=(--device "${DEVICE:-cuda}" --model "${MODEL:-deepseek-v3,qwen3-30b}"
    --tokens "${TOKENS:-128,4096,8192}" --engine "${ENGINES:-none,nccl,dma,kernel}"
    --routing "${ROUTING:-uniform}" --seconds "${SECONDS_EACH:-0.3}")
  say "moe, on streams"
  must timeout "${LIMIT:-280}" "$duet" moe "${options[@]}" --json "$out/moe.jsonl"
  say "moe, captured"
  must timeout "${LIMIT:-280}" "$duet" moe "${options[@]}" --tokens "${CAPTURED_TOKENS:-128}" -G 1 \
    --json "$out/moe-captured.jsonl"
}

# The same with one process a GPU, as NVSHMEM's engines need it.
moe_processes() {
  find_nccl
  export NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_DISABLE_NVLS=1
  say "moe, one process a GPU"
  must one_process_a_gpu moe --device cuda --model "${MODEL:-deepseek-v3,qwen3-30b}" \
    --tokens "${TOKENS:-128,4096,8192}" --exchange "${EXCHANGES:-per-rank,per-expert}" \
    --engine "${ENGINES:-none,nccl,dma,kernel,nvshmem,nvshmem-block,nvshmem-grid}" \
    --routing "${ROUTING:-uniform}" --seconds "${SECONDS_EACH:-0.3}" --json "$out/moe-processes.jsonl"
}
