#!/usr/bin/env bash
# Duet's commands on the stand-in, their errors, several processes that share memory by HIP's
# handles, and the script of the first run: command_line.sh BUILD SOURCE.
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$2")
duet=$build/duet
source "$(dirname "$0")/../../ports.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0
short=(-b 64K --iterations 3 --warm-up 0)

fail() {
  echo "FAIL: $*" >&2
  failures=$((failures + 1))
}
# says TEXT STATUS ARGUMENT...: the command ends with this status, and its output has the text.
says() {
  local text=$1 expected=$2 status=0
  shift 2
  timeout 100 "$duet" "$@" > out 2>&1 || status=$?
  [[ $status == "$expected" ]] || fail "$*: ended with $status, not $expected: $(cat out)"
  grep -q -- "$text" out || fail "$*: expected '$text': $(cat out)"
}

says 'gfx942' 0 info --device hip
says 'xGMI: 64.00 GB/s a direction, peer access' 0 info --device hip
says 'driver: 6.12.12 (HIP' 0 info --device hip
DUET_STANDIN=no-amd-smi says 'driver: 6.8.5 (HIP' 0 info --device hip
says 'AMD SMI  *26.1.0' 0 info --device hip
says 'ROCm SMI  *7.3.0' 0 info --device hip
DUET_STANDIN=no-smi says 'xGMI: peer access' 0 info --device hip
says '12 measured' 0 copy --device hip:0,1 --sizes 64K --kind peer --executor dma --iterations 3
says '12 measured' 0 copy --device hip:0,1 --sizes 64K --kind peer --executor sdma --iterations 3 \
  --json sdma.jsonl
for engine in 'SDMA 2 of hip:0' 'SDMA 2 of hip:0, SDMA 6 of hip:1'; do
  grep -q "\"sdma_engines\":\"$engine\"" sdma.jsonl || fail "no '$engine': $(cat sdma.jsonl)"
done
says 'SDMA engines cannot access pageable memory' 0 copy --device hip:0 --sizes 64K --executor sdma \
  --iterations 3
DUET_STANDIN=no-sdma says 'names no engine' 1 copy --device hip:0,1 --sizes 64K --kind peer \
  --pattern pair --issue push --one-way --matrix 0 --executor sdma
says 'sdma needs AMD GPUs' 1 copy --device host:2 --sizes 64K --kind peer --executor sdma
says '2 measured' 0 collective all_gather,all_to_all --device hip --engine dma "${short[@]}" --in-place out
says '18 measured' 0 collective all --device hip --engine sdma "${short[@]}"
says 'copies by sdma are submitted by the CPU' 1 collective all_gather --device hip --engine sdma "${short[@]}" -G 2
DUET_STANDIN=no-sdma says 'names no engine' 1 collective all_gather --device hip --engine sdma "${short[@]}"
says 'sdma: expected ranks of one node' 1 collective all_gather --device hip --engine sdma "${short[@]}" --node-size 2
rccl=(--device hip "${short[@]}" --engine)
says '32 measured' 0 collective all_gather,reduce_scatter,all_reduce,broadcast "${rccl[@]}" rccl \
  --datatype fp32,fp16,bf16,int32
says '6 measured' 0 collective reduce_scatter,all_reduce "${rccl[@]}" rccl --op max,min,avg --in-place out
says '6 measured' 0 collective all_to_all,all_to_all_v,send_recv,gather,scatter,neighbor_exchange "${rccl[@]}" rccl \
  --in-place out
for groups in 2x2 2x2:strided; do
  DUET_STANDIN=gpus=4 says '1 measured' 0 collective all_reduce "${rccl[@]}" rccl --in-place out --groups $groups \
    --beside all_gather:64K --beside-groups 1x4
done
DUET_STANDIN=gpus=4 says '1 measured' 0 collective all_reduce "${rccl[@]}" rccl --in-place out --groups 2x2 \
  --beside all_gather:64K
# A soak of two GPUs in order, then with planted faults; device 2 has faults that its driver tells.
soak=(soak --seed 1 --round-seconds 0.1 --memory 1M --slow-below 0)
says 'duet soak: OK .* 0 wrong results' 0 "${soak[@]}" --device hip:0,1 --rounds 3
says 'round 1: memory at hip:1: .*; round 2: link at hip:0 > hip:1: .*; round 3: core at hip:1: ' 1 \
  "${soak[@]}" --device hip:0,1 --rounds 3 --inject memory@1:1,link@2:0,core@3:1
says 'FAIL .*hip:2: 2 uncorrected memory errors' 1 "${soak[@]}" --device hip:2 --rounds 1
says 'FAIL .*hip:2: clocks are limited: thermal, of the memory' 1 "${soak[@]}" --device hip:2 --rounds 1
# What RCCL's versions do not have is skipped, with the reason.
says 'rccl-8cta needs RCCL 2.30.7 or later, this is 2.22.3; NCCL_MAX_NCHANNELS caps' 1 \
  collective all_reduce "${rccl[@]}" rccl-8cta
says 'rccl-window needs RCCL 2.28.3 or later, this is 2.22.3$' 1 collective all_gather "${rccl[@]}" rccl-window
DUET_STANDIN=rccl=2.27.7 says 'rccl-zero-cta needs RCCL 2.28.3 or later, this is 2.27.7$' 1 \
  collective all_gather "${rccl[@]}" rccl-zero-cta
DUET_STANDIN=gpus=1,rccl=2.27.7 says 'all_to_all of one rank does not end in RCCL 2.27.7' 1 \
  collective all_to_all "${rccl[@]}" rccl --in-place out
DUET_STANDIN=gpus=1 says '1 measured' 0 collective all_to_all "${rccl[@]}" rccl --in-place out
DUET_STANDIN=rccl=2.28.3 says 'no symmetric windows on this machine (gfx942 and gfx950 need NCCL_CUMEM_ENABLE=1)' 1 \
  collective all_gather "${rccl[@]}" rccl-window
DUET_STANDIN=rccl=2.28.3 NCCL_CUMEM_ENABLE=1 says '12 measured, 4 skipped' 0 \
  collective all_gather,all_to_all,all_reduce,gather "${rccl[@]}" rccl-window,rccl-zero-cta
DUET_STANDIN=rccl=2.30.7 says '2 measured' 0 collective all_reduce "${rccl[@]}" rccl-8cta
overlap=(overlap --device hip:0,1 --compute gemm:64x64x64 --communicate all_gather:64K --iterations 3
         --policy base,partition,zero-cta --units 16)
says '1 measured, 3 skipped' 0 "${overlap[@]}"
DUET_STANDIN=rccl=2.30.7 NCCL_CUMEM_ENABLE=1 says '4 measured' 0 "${overlap[@]}"
for more in "" --accumulate; do
  says '12 measured, 3 skipped' 0 gemm --device hip --engine rocblas --shapes 33x48x65 $more \
    --dtype fp32,tf32,fp16,bf16,int8 --layout nn,nt,tn --iterations 2 --warm-up 0
done
says 'rocblas_gemm_ex does not multiply fp8_e4m3' 1 gemm --device hip --engine rocblas \
  --shapes 64x64x64 --dtype fp8_e4m3
# hipBLASLt: all types, the search and its cache, epilogues.
gemm=(gemm --device hip --shapes 33x48x65 --layout nn,nt,tn --iterations 2 --warm-up 0)
for more in "" --accumulate; do
  says '18 measured' 0 "${gemm[@]}" --engine hipblaslt $more \
    --dtype fp32,tf32,fp16,bf16,fp8_e4m3,int8 --json measured.jsonl
  [[ $(grep -c '"verified":true' measured.jsonl) == 18 ]] || fail "not verified: $(cat measured.jsonl)"
  rm measured.jsonl
done
tuned=(--engine rocblas,hipblaslt,hipblaslt-tuned --tuning-seconds 0.2 --tuning-cache tuned.json)
says '9 measured' 0 "${gemm[@]}" "${tuned[@]}" --json tuned.jsonl
grep -q '"algorithm":"solution 1[124], ' tuned.jsonl || fail "no solution: $(cat tuned.jsonl)"
! grep -q 'solution 13' tuned.jsonl || fail "the search chose a solution that does not run"
says '9 measured' 0 "${gemm[@]}" "${tuned[@]}" --json again.jsonl
grep -q 'from the tuning cache' again.jsonl || fail "nothing came from the cache: $(cat again.jsonl)"
says '3 measured' 0 "${gemm[@]}" --engine hipblaslt --epilogue gelu
says '3 measured' 0 "${gemm[@]}" --engine hipblaslt --epilogue gelu_backward
DUET_STANDIN=arch=gfx950 says '3 measured' 0 "${gemm[@]}" --engine hipblaslt --dtype fp8
DUET_STANDIN=no-gemm says 'hipBLASLt has no algorithm for 33x48x65 bf16 nn' 1 \
  "${gemm[@]}" --engine hipblaslt
mkdir without
ln -s "$build/tests/fake_gpu/lib/runtime/"lib{amdhip64,rocblas}* without
LD_LIBRARY_PATH=$build/tests/fake_gpu/lib:$PWD/without says 'libhipblaslt.so.0: cannot open' 0 \
  "${gemm[@]}" --engine rocblas,hipblaslt

DUET_STANDIN=gpus=0 says 'no AMD GPU: the HIP runtime counts no devices' 2 info --device hip
DUET_STANDIN=no-peers says 'no peer access from hip:0 to hip:1' 1 \
  collective all_gather --device hip --engine dma "${short[@]}"

# Energy, at 400 and 410 W; device 3 has no counter.
beside=(overlap --compute gemm:64x64x64 --communicate all_gather:64K --policy dma --iterations 2
  --energy --energy-seconds 0.1)
says '1 measured' 0 "${beside[@]}" --device hip:0,1 --json energy.jsonl
grep -q '"idle_watts":8[01]' energy.jsonl || fail "no energy: $(cat energy.jsonl)"
says 'hip:3' 0 "${beside[@]}" --device hip:2,3

# Why clocks are limited, in a journal and as health, and links that are down.
says '1 measured' 0 gemm --device hip:1 --engine rocblas --shapes 64x64x64 --dtype bf16 --mode sustained \
  --seconds 0.2 --json limited.jsonl
grep -q '"throttle":\["power cap"\]' limited.jsonl || fail "no reason: $(cat limited.jsonl)"
health=(health --no-measurements --device)
says 'links 2 ok' 0 "${health[@]}" hip:0,1
says 'hip:2: 6 of 7 links up; hip:2: clocks are limited: thermal, of the memory' 1 "${health[@]}" hip:2
DUET_STANDIN=no-amd-smi says 'links 2 unknown, pcie 2 unknown, clocks 2 unknown' 0 "${health[@]}" hip:0,1

# two_processes TEXT DEVICES DEVICES ARGUMENT...: the output of the first has the text. FIRST has
# words of DUET_STANDIN for that one.
two_processes() {
  local text=$1 rank
  local -a devices=("$2" "$3")
  shift 3
  port=$((port + 1))
  for rank in 0 1; do
    DUET_STANDIN=$([[ $rank == 1 ]] || echo "${FIRST-}") MASTER_ADDR=127.0.0.1 MASTER_PORT=$port RANK=$rank \
      WORLD_SIZE=2 timeout 100 "$duet" collective "$@" --device "${devices[rank]}" "${short[@]}" > "out.$rank" 2>&1 &
  done
  wait || true
  grep -q -- "$text" out.0 || fail "two processes, $*: expected '$text': $(cat out.0 out.1)"
}
two_processes '4 measured' hip:0,1 hip:2,3 all_gather --engine dma,sdma
two_processes '18 measured' hip:0,1 hip:2,3 all --engine sdma
two_processes '18 measured' hip:0 hip:3 all --engine sdma
FIRST=gpus=2 two_processes 'ROCr does not tell which GPU has memory of another process' hip:0 hip:3 \
  all_gather --engine sdma
FIRST=no-sdma two_processes 'names no engine' hip:0 hip:3 all_gather --engine sdma

# Two nodes of two GPUs, whose memory is staged through pinned slots; and two of one, by copies
# between them over shm.
over_nodes() {  # PATH DEVICES-OF-RANK-0 DEVICES-OF-RANK-1 ARGUMENT...
  local path=$1 rank status=0
  local -a devices=("$2" "$3") pids=()
  shift 3
  port=$((port + 1))
  for rank in 0 1; do
    MASTER_ADDR=127.0.0.1 MASTER_PORT=$port RANK=$rank WORLD_SIZE=2 timeout 100 "$duet" collective \
      all_gather,all_to_all,reduce_scatter,all_reduce,broadcast --device "${devices[rank]}" -b 2M -e 2M \
      --in-place out --iterations 3 --warm-up 0 --json "nodes.$rank" "$@" > "out.$rank" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
  if grep -q "whose module is not built in" out.0; then
    echo "left out: rails need libfabric"
    return
  fi
  [[ $status == 0 ]] && grep -q ' measured$\| measured;' out.0 || fail "over nodes, $path: $(cat out.*)"
  [[ $(grep -c '"verified":true' nodes.0) == $(grep -c '"outcome":"measured"' nodes.0) ]] ||
    fail "over nodes, $path: not verified: $(cat out.0)"
  grep -q "$path" nodes.0 || fail "over nodes: expected '$path': $(cat nodes.0)"
  rm nodes.*
}
over_nodes 'staged by chunks of' hip:0,1 hip:2,3 --node-size 2 --engine dma,kernel --provider 'tcp;ofi_rxm'
over_nodes '1 rail, ipc' hip:0 hip:1 --node-size 1 --engine dma --provider shm

# The first run: a step that fails is named, and all is packed.
first_run() {  # STEPS
  BUILD=$build STEPS=$1 SHAPES="--shapes 32x32x32 --tuning-seconds 0.1" OPTIONS="--iterations 2 --warm-up 0" \
    "$source/bench/on_amd.sh" run > out 2>&1
}
first_run "info gemm" || fail "on_amd.sh: $(cat out)"
packed=$(tar -tzf run.tar.gz)
[[ $packed == *run/gemm.jsonl* && $packed == *run/info.txt* ]] || fail "on_amd.sh packed $packed"
! DUET_STANDIN=gpus=0 first_run "info gemm" || fail "on_amd.sh without a GPU did not fail"
grep -q '^failed: info gemm' out || fail "on_amd.sh: $(cat out)"
! first_run "info everything" || fail "on_amd.sh took an unknown step"
grep -q "expected info.*not 'everything'" out || fail "on_amd.sh: $(cat out)"

[[ $failures == 0 ]] || exit 1
