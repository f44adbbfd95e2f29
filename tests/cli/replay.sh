#!/usr/bin/env bash
# duet replay: what is found in traces, the table of what engines save, and what is no trace.
traces=$(realpath "$(dirname "$0")/../replay")
source "$(dirname "$0")/check.sh"

# Nothing is measured: the calls as recorded, what is left out and why, then the cases.
expect_code 0 replay "$traces/profiler_tensor_parallel.json" --list --device sim:h200-4 --engine dma --parts step
grep -q 'PyTorch profiler, step 4, 3.600 ms): 12 GEMMs of 339.8 GFLOP, 9 collectives of 0.168 GB' out ||
  fail "found: $(cat out)"
grep -qE 'all_reduce fp32 +1 +32 MiB +4 +160.00 us' out || fail "a collective: $(cat out)"
grep -q 'left out: 2 x kernels of other operators (42.00 us)' out || fail "left out: $(cat out)"
grep -qx '2 cases' out || fail "cases: $(cat out)"

# Verified to the bit, by each engine in both orders; the first one is the usual one.
expect_code 0 replay "$traces/execution_trace_nccl.json" --device sim:h200-4 --engine dma,vendor-model \
  --parts step --json step.jsonl
[[ $(grep -c '"benchmark":"replay".*"outcome":"measured".*"verified":true' step.jsonl) == 4 ]] ||
  fail "records: $(cat step.jsonl)"
grep -qE 'overlapped +dma .* [+-][0-9.]+%$' out || fail "what dma saves: $(cat out)"
grep -qE 'overlapped +vendor-model .* -$' out || fail "the first engine: $(cat out)"
grep -q '"waits":"of the trace"' step.jsonl || fail "waits: $(cat step.jsonl)"

# GEMMs alone, and a part of the calls.
expect_code 0 replay "$traces/execution_trace_gloo.json" --device sim:h200-4 --from 1 --to 6 --parts step
grep -q 'serial  none' out || fail "without collectives: $(cat out)"

refuses 'replay: expected traces of a step' replay
refuses 'nowhere.json cannot be read: expected a file with a trace' replay nowhere.json
printf '\x1f\x8b\x08' > packed.json.gz
refuses 'packed.json.gz: compressed, but damaged or cut short' replay packed.json.gz
printf '\x0a\x03\x00\x12' > rank0.et
refuses 'rank0.et: binary, as Chakra' replay rank0.et
echo '{"traceEvents": [' > cut.json
refuses 'cut.json: not whole JSON: expected a trace of PyTorch' replay cut.json
refuses 'no GEMM and no collective in it' replay "$traces/profiler_list.json"
refuses 'step 9: the trace has 3, 4' replay "$traces/profiler_tensor_parallel.json" --step 9
refuses 'the trace marks no steps' replay "$traces/inspector.jsonl" --step 1
refuses 'calls 8 to 5: expected some of 1 to 5' replay "$traces/inspector.jsonl" --from 8
refuses "--parts: unknown 'all': expected gemms, collectives or step" replay "$traces/inspector.jsonl" --parts all
refuses "expected another name than inspector's" replay "$traces/inspector.jsonl" "$traces/inspector.jsonl"
refuses "--gemm: unknown engine 'foo'" replay "$traces/inspector.jsonl" --gemm foo
