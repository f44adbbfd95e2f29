# Multiplications and the collectives that they wait for. Sourced by on_gpu.sh.

check_layers() {
  find_nccl
  say "layers: every way verified, on streams and captured"
  must "$build/tests/layer_test" --gtest_brief=1
  must "$build/tests/collectives_test" --gtest_filter='RowSchedules*' --gtest_brief=1
}

check_torch() {
  find_nccl
  say "duet.torch"
  DUET_LIBRARY=$build/libduet.so PYTHONPATH=src/bindings/python \
    must timeout "${LIMIT:-580}" python3 bench/torch_on_gpus.py
}

check_python() {
  find_nccl
  say "the Python package"
  DUET_LIBRARY=$build/libduet.so PYTHONPATH=src/bindings/python \
    must timeout "${LIMIT:-280}" torchrun --nproc-per-node "$(count_gpus)" bench/python_on_gpus.py
}

# By turns with the multiplication alone. LAYERS, TOKENS, ENGINES, MODEL choose.
layers() {
  find_nccl
  local options=(${LAYERS:-gather-gemm,gemm-scatter} --device cuda --model "${MODEL:-llama70b}"
    --tokens "${TOKENS:-512,2048,4096,8192}" --engine "${ENGINES:-nccl,dma,kernel,pieces}"
    --seconds "${SECONDS_EACH:-0.3}" --tuning-seconds 0.5)
  say "layers, on streams"
  must timeout "${LIMIT:-280}" "$duet" layer "${options[@]}" --json "$out/layers.jsonl" --quiet
  say "layers, captured"
  must timeout "${LIMIT:-280}" "$duet" layer "${options[@]}" -G 1 --json "$out/layers-captured.jsonl" --quiet
  if [[ -z ${NO_TORCH:-} ]] && python3 -c 'import torch' 2> /dev/null; then
    say "layers, by PyTorch"
    must timeout "${LIMIT:-280}" torchrun --nproc-per-node "${GPUS:-2}" bench/layers.py \
      --model "${MODEL:-llama70b}" --tokens "${TOKENS:-512,2048,4096,8192}" \
      --seconds "${SECONDS_EACH:-0.3}" --json "$out/layers-torch.jsonl"
  fi
  python3 bench/layers.py --table "$out"/layers*.jsonl
}
