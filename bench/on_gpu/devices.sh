# One GPU, and copies between GPUs. Sourced by on_gpu.sh.

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

# ROUTING, RANKS, ROWS, LAYOUT, ROUNDS choose.
grouped() {
  say "grouped GEMMs, every engine verified"
  must timeout 150 "$build/tests/gemm_test" --gtest_filter='Gpus/*' --gtest_brief=1
  say "beside torch._grouped_mm"
  export PYTHONUNBUFFERED=1
  must timeout "${LIMIT:-400}" python3 bench/grouped_against_torch.py --duet "$duet" --out "$out" \
    --routing "${ROUTING:-uniform}" --ranks "${RANKS:-8}" --rows "${ROWS:-32,128,512}" \
    --layout "${LAYOUT:-nn}" --rounds "${ROUNDS:-1}"
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
