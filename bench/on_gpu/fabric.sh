# Messages between two processes. Sourced by on_gpu.sh.

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
