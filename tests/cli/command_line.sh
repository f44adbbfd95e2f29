#!/usr/bin/env bash
# Exit codes, messages, outputs in files, in a pipe and on a terminal.
source "$(dirname "$0")/check.sh"

short=(copy --device sim:mi300x-8 --kind local --executor dma --sizes 64K)

# Help and lists.
expect_code 0 --help
expect_code 0 --version
grep -q '^duet [0-9]' out || fail "--version: $(cat out)"
for command in info gemm copy collective fabric run; do expect_code 0 "$command" --help; done
[[ $(awk 'length > 100' out | wc -l) == 0 ]] || fail "--help is wider than 100 columns"
expect_code 0 run
grep -q '^quick' out || fail "run does not list quick"
expect_code 0 info
expect_code 0 info --device sim:mi300x-8 --json
grep -q '"machines"' out || fail "info --json: $(cat out)"

# A device before what the command takes; a cluster, whose nodes not all collectives of Duet's own
# engines cross.
expect_code 0 collective --device sim:p5-48xlarge:nodes=3 gather -b 64K -e 64K --verbose
grep -qE 'vendor-model +no .* busbw GB/s' out || fail "no collective over nodes: $(cat out)"
grep -qE 'dma +no +skipped: ranks of several nodes' out || fail "dma over nodes: $(cat out)"

# Wrong usage names what was expected.
refuses 'expected a command'
refuses 'expected a command' dance
refuses '--fast' copy --fast
refuses 'expected one of host, cuda, hip, sim' gemm --device abacus
refuses 'mi300x-8' gemm --device sim:abacus
refuses 'expected host:N' copy --device host:0
refuses 'host:N:queue=K with K from 1' copy --device host:2:queue=0
refuses 'given twice' copy --device host --device host
refuses 'expected MxNxK' gemm --shapes 12x12
refuses 'expected MxNxK' gemm --set cubes
refuses 'expected one of fp32' gemm --dtype fp7
refuses 'unknown GEMM engine' gemm --device sim:mi300x-8 --engine abacus
refuses 'nn' gemm --layout tt
refuses 'expected one of none, gelu, gelu_backward' gemm --epilogue relu
refuses 'expected equal, uniform or zipf:S' gemm --grouped --routing zipf:none
refuses 'expected one of deepseek-v3' gemm --grouped --model llama
refuses 'expected a divisor of the 8 experts' gemm --grouped --model mixtral --ranks 3
refuses 'expected without --groups' gemm --grouped --groups 2 --ranks 2
refuses 'expected without --shapes' gemm --grouped --shapes 8x8x8 --model mixtral
refuses 'expected nn or nt' gemm --grouped --layout tn
refuses 'expected without --grouped' gemm --grouped --search
refuses 'expected with --grouped' gemm --routing uniform
refuses 'host has loop-' gemm --grouped --engine onednn
refuses 'expected without --accumulate' gemm --epilogue gelu --accumulate
refuses 'is not a size' copy --sizes 7q
refuses 'MIN <= MAX' copy --sizes 2M..1M
refuses '0 bytes' copy --sizes 0
refuses 'FROM-TO' copy --pairs 01
refuses 'devices 0 to 7' copy --device sim:mi300x-8 --pairs 0-8
refuses 'expected one of' copy --kind sideways
refuses 'expected one of' copy --executor hand
refuses 'expected one of pinned, pageable' copy --host-memory paper
refuses 'whole number' copy --grid 0
refuses 'nothing to measure' copy --device host --kind peer
refuses 'expected adaptive' copy --mode fast
refuses 'a number of seconds' copy --seconds soon
refuses 'whole number' copy --iterations 1.5
refuses 'expected one of all_gather' collective allgather --device host:2
refuses 'collectives is required' collective
refuses '--nx 2: expected a whole number from 3' halo --device host:2 --nx 2
refuses 'ny 3: expected at least a row for each of 4 ranks' halo --device host:4 --nx 8 --ny 3
refuses '--ranks 3: expected at most 2, the devices of host:2' halo --device host:2 --nx 8 --ranks 3
refuses '--steps 3: expected an even number' halo --steps 3
refuses "unknown halo engine 'nccl': host:2 has dma, kernel, host, mpi" halo --device host:2 --engine nccl
refuses 'ny 1: expected at least a row for each of 2 ranks' halo --device host:2 --ny 1
refuses "--overlap: unknown 'maybe': expected yes, no or both" halo --overlap maybe
refuses 'expected one of none, device, host, delayed' halo --norm late
refuses 'expected one of none, strong, weak' halo --scaling some
expect_code 0 halo --device sim:p5-48xlarge:nodes=2 --nx 64 --engine dma --ranks 1,16
grep -q '4 cases: 4 measured' out || fail "no halo exchange over simulated nodes: $(cat out)"
refuses 'unknown collective engine' collective all_gather --device host:2 --engine abacus
refuses 'expected float' collective all_gather -d double
refuses 'expected one of sum' collective all_reduce -o prod
refuses 'expected one of fp32' collective all_reduce -d uint8
refuses 'expected one of fp32' collective all_gather,all_reduce -d uint8
refuses 'expected 0 to 1' collective broadcast --device host:2 -r 2
refuses 'not below -b' collective all_gather -b 2M -e 1M
refuses 'whole number from 2' collective all_gather -b 1M -e 2M -f 1
refuses 'expected one of them' collective all_gather -b 1M -e 2M -f 2 -i 1M
refuses 'expected -b and -e' collective all_gather -f 2
refuses 'over 1000 sizes' collective all_gather -b 1K -e 1G -i 1K
refuses 'at least 16' collective all_gather --device host:4 -b 15
refuses 'expected 0' collective all_gather -z 1
refuses 'whole number from 0' collective all_gather -G some
refuses 'has 2 devices' collective all_gather --device host:2 -g 8
refuses 'expected one of them' collective all_gather --loop --mode adaptive
refuses 'expected out, in or both' collective all_gather --in-place maybe
refuses 'expected one of even, random, one_heavy' collective all_to_all_v --skew odd
refuses 'expected one of send_recv, write, write_imm, read, all_to_all' fabric put
refuses 'expected one of single, split, round_robin' fabric --rail-mode all
refuses 'expected one of host, pinned, device' fabric --memory paper
refuses 'expected one-way, two-way or both' fabric --direction sideways
refuses 'whole number from 1 to' fabric --window 0
refuses 'whole number from 1 to' fabric --messages some
refuses 'Gbit/s above 0' fabric --link-gbit none
refuses 'seconds above 0' fabric --stall 0
if [[ -e $(dirname "$duet")/modules/duet_libfabric.so ]]; then
  refuses 'shm' fabric --provider abacus
  refuses 'expected all_to_all' fabric write --nodes 3
  refuses 'whole number from 2 to 256' fabric --nodes 1
  refuses "there is no 'eth99'" fabric --rails eth99
  refuses 'expected host, cuda or hip' fabric --provider shm --device sim:mi300x-8
else
  expect_code 1 fabric
  grep -q 'needs libfabric' err || fail "fabric without libfabric: $(cat err)"
fi
refuses 'expected quick or seed' run slow
refuses 'expected host, cuda, hip or sim' run quick --device abacus
refuses 'FILE' "${short[@]}" --json
refuses 'cannot be written' "${short[@]}" --json nowhere/journal.jsonl
refuses 'cannot be written' "${short[@]}" --json journal.jsonl --csv nowhere/table.csv
refuses 'expected two files' "${short[@]}" --json same --csv same
refuses 'expected --json FILE' "${short[@]}" --resume

# A platform that is broken, or not there.
printf '[device\n' > broken.toml
refuses 'broken.toml' copy --device sim:broken.toml --json journal.jsonl
refuses 'nowhere.toml' copy --device sim:nowhere.toml --json journal.jsonl

# Defaults of a CPU that lacks bf16, as a library says of the instruction sets that it may use.
export ONEDNN_MAX_CPU_ISA=AVX2 DNNL_MAX_CPU_ISA=AVX2
expect_code 0 gemm --engine onednn --list
grep -q ' fp32 ' out || fail "the default type without bf16: $(cat out)"
expect_code 1 gemm --engine onednn --shapes 64x64x64 --dtype bf16
grep -q 'has no bf16 matmul on this CPU; it has fp32' err || fail "bf16 without bf16: $(cat err)"
expect_code 1 overlap --device host:2 --compute gemm:64x64x64:bf16 --communicate all_gather:64K --policy base
grep -q '1 case: 0 measured, 1 skipped' out || fail "a missing kernel is no skip: $(cat out err)"
unset ONEDNN_MAX_CPU_ISA DNNL_MAX_CPU_ISA
expect_code 0 overlap --list
count=$(grep -c '^overlap' out || true)
((count > 0 && count < 12)) || fail "the default scenarios of a CPU: $(cat out)"

# Outputs: in a pipe there is no progress; what exists is not written over.
expect_code 0 "${short[@]}" --json journal.jsonl --csv table.csv
[[ ! -s err ]] || fail "a run in a pipe wrote to stderr: $(cat err)"
grep -q $'\r' out && fail "a run in a pipe shows progress"
[[ $(wc -l < journal.jsonl) == 2 ]] || fail "journal: $(cat journal.jsonl)"
[[ $(wc -l < table.csv) == 2 ]] || fail "table: $(cat table.csv)"
refuses 'exists' "${short[@]}" --json journal.jsonl
refuses 'exists' "${short[@]}" --csv table.csv
refuses 'expected the same devices' copy --device host --json journal.jsonl --resume
printf 'nonsense\n' > damaged.jsonl
refuses 'damaged.jsonl:1:' "${short[@]}" --json damaged.jsonl --resume
expect_code 0 "${short[@]}" --quiet
[[ ! -s out && ! -s err ]] || fail "--quiet is not: $(cat out err)"
expect_code 0 "${short[@]}" --json /dev/stdout --quiet
[[ $(grep -c '^{"type"' out) == 2 ]] || fail "--json /dev/stdout: $(cat out)"

# A module that was built loads, and says of a machine without its hardware just that.
"$duet" info > info.txt
if [[ -e $(dirname "$duet")/modules/duet_cuda.so ]]; then
  grep -qE '^ *cuda +(yes|no +no NVIDIA (driver|GPU))' info.txt || fail "cuda module: $(grep cuda info.txt)"
fi
for module in onednn openblas; do
  [[ -e $(dirname "$duet")/modules/duet_$module.so ]] || continue
  expect_code 0 gemm --device host --shapes 64x64x64 --dtype fp32 --engine $module --json /dev/stdout --quiet
  grep -q '"outcome":"measured"' out || fail "$module module: $(cat out)"
done

# One output never destroys another, nor what Duet did not write.
expect_code 0 "${short[@]}" --json own.jsonl
cp own.jsonl own.before
refuses 'expected two files' "${short[@]}" --json own.jsonl --csv ./own.jsonl --resume
ln own.jsonl hard.jsonl
refuses 'expected two files' "${short[@]}" --json fresh.jsonl --csv fresh.jsonl --resume
refuses 'expected two files' "${short[@]}" --json own.jsonl --csv hard.jsonl --resume
printf 'my notes\n' > notes.csv
refuses 'not what would be written anew' "${short[@]}" --json own.jsonl --csv notes.csv --resume
cmp -s own.jsonl own.before || fail "a refused run changed its journal"
refuses 'expected two files' "${short[@]}" --json twice --csv ./twice
printf '{"type":"environment","schema":1,"machines":[5]}\n' > damaged2.jsonl
refuses 'damaged2.jsonl:1:' "${short[@]}" --json damaged2.jsonl --resume
refuses 'cannot be written' gemm --device host --shapes 64x64x64 --tuning-cache nowhere/tuning.json
refuses 'expected a value' gemm --shapes ''
refuses 'unknown dtype' gemm --dtype int32
refuses 'at most 1024' copy --device host --block 2048
expect_code 0 gemm --device host,sim:mi300x-8 --engine model --shapes 64x64x64 --quiet
code=0
"$duet" "${short[@]}" > /dev/full 2> err || code=$?
[[ $code == 1 ]] || fail "a full standard output went unnoticed: $code"

# Sets are labels: the same shape in another set is not measured again; in another mode it is.
gemm=(gemm --device sim:mi300x-8 --json sets.jsonl --quiet)
expect_code 0 "${gemm[@]}" --set seed
expect_code 0 "${gemm[@]}" --set seed,squares --resume
[[ $(grep -c '"result"' sets.jsonl) == 7 ]] || fail "a shape was repeated for its label: $(wc -l < sets.jsonl)"
expect_code 0 "${gemm[@]}" --set seed --mode do_bench --resume
[[ $(grep -c '"result"' sets.jsonl) == 14 ]] || fail "figures of another mode were taken over"

# What a flag does not say stays as the mode and the command have it.
measured() { grep -c "$1" out || true; }
expect_code 0 gemm --device sim:mi300x-8 --shapes 64x64x64 --mode do_bench --json /dev/stdout --quiet
[[ $(measured '"flushed":true') == 1 ]] || fail "do_bench flushes the cache: $(cat out)"
expect_code 0 gemm --device sim:mi300x-8 --shapes 64x64x64 --mode do_bench --no-flush --json /dev/stdout --quiet
[[ $(measured '"flushed":false') == 1 ]] || fail "--no-flush does not flush: $(cat out)"
pair=(copy --device sim:h200-4 --kind peer --executor dma --issue push --pattern pair --sizes 64K
      --matrix 0 --json /dev/stdout --quiet)
expect_code 0 "${pair[@]}"
[[ $(measured '"bidirectional":true') == 1 && $(measured '"bidirectional":false') == 1 ]] ||
  fail "copies go one way and both ways: $(cat out)"
expect_code 0 "${pair[@]}" --one-way
[[ $(measured '"bidirectional":true') == 0 ]] || fail "--one-way: $(cat out)"
expect_code 0 "${pair[@]}" --bidirectional
[[ $(measured '"bidirectional":false') == 0 ]] || fail "--bidirectional: $(cat out)"

# Collectives by nccl-tests' flags, every type and operation; two sizes that are one run once.
expect_code 0 collective all --device host:3 -g 3 -b 4K -e 8K -d all -o all -r 1 -n 1 -w 0 \
  --skew random,one_heavy --json all.jsonl
[[ $(awk 'length > 100' out | wc -l) == 0 && $(wc -l < out) -lt 50 ]] || fail "a long table: $(cat out)"
grep -q '30 of [0-9]* lines; all: --verbose' out || fail "what was left out is not said: $(cat out)"
grep -q '^  reduce_scatter ' out || fail "no table of reduce_scatter: $(cat out)"
[[ $(grep -c '"wrong":0' all.jsonl) == $(grep -c '"verified":true' all.jsonl) ]] ||
  fail "some collectives were not checked"
expect_code 0 collective broadcast --device host:2 --engine dma --loop -n 3 -c 0 -b 4K --json loop.jsonl
grep -q '"mode":"loop","warm_ups":5' loop.jsonl || fail "--loop: $(cat loop.jsonl)"
grep -q '1 case: not verified\|2 cases: not verified' out || fail "-c 0: $(cat out)"

# Captured calls: a graph is launched -G times, with the calls of -n; what cannot be captured says why.
graph=(collective all_gather,all_reduce --device host:3 -b 4K --json /dev/stdout --quiet)
expect_code 0 "${graph[@]}" -G 3 --loop -n 4 --engine dma,kernel,auto,host
[[ $(measured '"graph_launches":3,"graph_calls":4.*"verified":true') == 12 ]] || fail "-G 3 --loop: $(cat out)"
[[ $(measured 'a graph would repeat the count') == 4 ]] || fail "-G 3, engine host: $(cat out)"
expect_code 0 "${graph[@]}" -G 2 -n 3 -w 1 --engine auto
[[ $(measured '"graph_launches":2,"graph_calls":1.*"verified":true') == 4 ]] || fail "-G 2: $(cat out)"
expect_code 0 "${graph[@]}" -G 0 -n 3 --engine auto
[[ $(measured '"graph_calls"') == 0 ]] || fail "-G 0: $(cat out)"

# Other works than a GEMM and a collective.
offload=(--compute gemm:64x64x64:fp32 --communicate copy:device_to_host:64K)
expect_code 0 overlap --device host:2 "${offload[@]}" --policy priority,dma --iterations 1
grep -q 'skipped: dma: expected a collective to choose an engine or units for' out || fail "dma of a copy: $(cat out)"
refuses 'expected a GEMM beside a collective' overlap --device host:2 "${offload[@]}" --isolated
refuses 'expected a GEMM beside a collective' advise --device host:2 "${offload[@]}"
refuses 'expected gemm:MxNxK' overlap --device host:2 --compute copy:peer --communicate gemm:8x8x8

# Energy where no device counts it: measured all the same, and said in one line.
pair=(overlap --device host:2 --compute gemm:64x64x64:fp32 --communicate all_gather:64K --policy dma,serial)
expect_code 0 "${pair[@]}" --iterations 2 --energy --energy-seconds 0.1
grep -q '2 cases: no energy: host:0 has no energy counter' out || fail "--energy: $(cat out)"
refuses 'expected --energy as well' "${pair[@]}" --energy-seconds 1
refuses 'seconds above 0' "${pair[@]}" --energy --energy-seconds 0

# A trace of what a journal tells; it replaces none but its own.
expect_code 0 overlap --device sim:h200:devices=2 --compute gemm:64x64x64:fp32 \
  --communicate all_gather:64K --policy serial,dma --json overlap.jsonl --quiet
for _ in 1 2; do expect_code 0 trace overlap.jsonl --match dma -o trace.json; done
grep -qxF 'trace: trace.json, cases: 1' out || fail "trace: $(cat out)"
expect_code 0 trace overlap.jsonl -o -
python3 -c 'import json, sys; assert len(json.load(sys.stdin)["traceEvents"]) > 20' < out || fail "trace: $(cat out)"
refuses "no case with the words 'copy'" trace overlap.jsonl --match copy
refuses 'expected journals' trace
refuses 'expected another name' trace overlap.jsonl -o overlap.jsonl

# On a terminal there is a progress line; a container may have no terminals to give.
if script -qec true /dev/null > /dev/null 2>&1 < /dev/null; then
  script -qec "$duet ${short[*]}" /dev/null > terminal < /dev/null
  grep -q '\[1/1\]' terminal || fail "no progress on a terminal: $(cat terminal)"
fi
finish
