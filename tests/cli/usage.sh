#!/usr/bin/env bash
# What contradicts itself, has no effect or is mistyped is refused in one line that says what was
# expected, with its limits and the word that was perhaps meant.
source "$(dirname "$0")/check.sh"

local_copy=(copy --device sim:mi300x-8 --kind local --executor dma --sizes 64K)
pair=(--compute gemm:64x64x64:fp32 --communicate all_gather:64K)

# Of the program and of every command.
for command in "" info gemm copy collective halo fabric overlap layer advise calibrate predict reproduce run report compare; do
  expect_code 0 $command -h
  expect_code 0 $command --help
  for flag in -V --version; do
    expect_code 0 $command $flag
    grep -q '^duet [0-9]' out || fail "duet $command $flag: $(cat out)"
  done
done

# Too much.
refuses "unexpected word 'copy'" gemm copy
refuses "unexpected word 'extra'" "${local_copy[@]}" extra
refuses "unexpected word 'host'" info host
refuses "unexpected word 'more'" run quick more
refuses '--flush and --no-flush: expected one of them' "${local_copy[@]}" --flush --no-flush
refuses '--flush and --no-flush: expected one of them' "${local_copy[@]}" --flush --flush --no-flush
refuses '--bidirectional and --one-way: expected one of them' copy --bidirectional --one-way
refuses '--quiet and --verbose: expected one of them' "${local_copy[@]}" --quiet --verbose
refuses '-n and --iterations: expected one of them' collective all_gather -n 3 --iterations 3
refuses '-w and --warm-up: expected one of them' collective all_gather -w 3 --warm-up 1
refuses '-i and -f: expected one of them' collective all_gather -b 1M -e 2M -f 2 -i 1M
refuses '--loop and --mode adaptive: expected one of them' collective all_gather --loop --mode adaptive
refuses "'paper' and --compute with --communicate" overlap paper "${pair[@]}"

# --list measures nothing, and writes nothing.
expect_code 0 run quick --list
grep -q '^copy on host, ' out || fail "run quick --list: $(cat out)"
tail -n 1 out | grep -qE '^[0-9]+ cases, about .* with preparation' || fail "run quick --list: $(tail -n 1 out)"
# estimated COMMAND...: its cases' seconds, as --list estimates them.
estimated() {
  expect_code 0 "$@" --list
  [[ $(tail -n 1 out) =~ about\ ([0-9]+)\ s ]] || fail "duet $*: $(tail -n 1 out)"
  seconds=${BASH_REMATCH[1]}
}
# On a CPU all default cases take at most 30 s; what was asked for is not cut.
defaults=("copy --device host")
[[ ! -e $(dirname "$duet")/modules/duet_libfabric.so ]] || defaults+=(fabric)
for command in "${defaults[@]}"; do
  # shellcheck disable=SC2086
  estimated $command
  ((seconds <= 30)) || fail "duet $command: about $seconds s"
  default=$seconds
  # shellcheck disable=SC2086
  estimated $command --seconds 0.6
  ((seconds > default)) || fail "duet $command --seconds 0.6: about $seconds s, $default s without"
done
expect_code 0 run quick --list
cp out listed
expect_code 0 run quick --dry-run
diff listed out > /dev/null || fail "--dry-run is not --list"
refuses '--json: expected without --list' "${local_copy[@]}" --list --json a.jsonl
refuses '--list: expected without --tune' collective all_gather --tune --list
refuses '--mark-speed: expected --show-schedule as well' collective all_gather --mark-speed
refuses '--trace: expected --show-schedule as well' collective all_gather --trace a.json
groups=(collective all_reduce --device host:4 -b 64K --groups)
refuses 'groups 3x2: expected groups of all 4 ranks, found 6' "${groups[@]}" 3x2
refuses '--groups 4: expected GROUPSxRANKS as 4x2' "${groups[@]}" 4
refuses '--beside: expected --groups as well' collective all_reduce --device host:4 --beside all_gather:4M
refuses '--beside-groups: expected --beside as well' "${groups[@]}" 2x2 --beside-groups 2x2
refuses '--beside all_gather: expected COLLECTIVE:BYTES' "${groups[@]}" 2x2 --beside all_gather
refuses 'groups 4x2: expected groups of all 4 ranks' "${groups[@]}" 2x2 --beside all_gather:4M --beside-groups 4x2
refuses '--loop: expected without --groups' "${groups[@]}" 2x2 --loop
refuses '--show-schedule: expected without --groups' "${groups[@]}" 2x2 --show-schedule
refuses "'all_gather:64K' beside both: expected copy:KIND:BYTES" overlap "${pair[@]}" --also all_gather:64K
refuses '--also: expected without --isolated' overlap "${pair[@]}" --isolated --also copy:local:64K
refuses '--csv: expected without --show-schedule' collective all_gather --show-schedule --csv a.csv
refuses '--rank: expected without --json' collective all_gather --show-schedule --rank 0 --json -
refuses '--rank 3: expected a whole number from 0 to 2' collective all_gather --show-schedule -b 64K --rank 3 --device host:3
refuses 'nothing to show on host:2 (its plans are no schedules): expected dma, kernel or auto' collective all_gather --show-schedule --engine host --device host:2
refuses 'nothing to show on host:2 (in place it would overwrite what it has still to send)' collective all_to_all --show-schedule --engine kernel --in-place in --device host:2
refuses '--rank: expected one size' collective all_gather --show-schedule --rank 0 --device host:2
refuses '--mode: expected without --show-schedule' collective all_gather --show-schedule --mode loop
refuses '--check: expected without --list' "${local_copy[@]}" --list --check

# Without effect.
refuses '--reproducible: expected --json or --report as well' "${local_copy[@]}" --reproducible
refuses '--seconds: expected without the mode loop' "${local_copy[@]}" --mode loop --seconds 1
refuses '--seconds: expected without the mode loop' collective all_gather --loop --seconds 1
refuses '--iterations: expected without the mode sustained' "${local_copy[@]}" --mode sustained --iterations 3
refuses '--issue: expected peer in --kind as well' "${local_copy[@]}" --issue push
refuses '--matrix: expected peer in --kind as well' "${local_copy[@]}" --matrix 1M
refuses '--pairs: expected pair in --pattern as well' copy --pattern all_pairs --pairs 0-1
refuses '--bidirectional or --one-way: expected peer' "${local_copy[@]}" --one-way
refuses '--host-memory: expected host_to_device or device_to_host' "${local_copy[@]}" --host-memory pinned
refuses '--grid: expected kernel in --executor as well' "${local_copy[@]}" --grid 4
refuses '-f need a range: expected -e as well' collective all_gather -b 64K -f 4
refuses '-o: expected reduce_scatter or all_reduce as well' collective all_gather -o sum
refuses '-r: expected broadcast, gather or scatter as well' collective all_gather -r 1
refuses '--skew: expected all_to_all_v as well' collective all_gather --skew even
refuses '--producers: expected a proxy as well' fabric write --producers 2
refuses '--fifo-memory: expected a proxy as well' fabric write --fifo-memory pinned
refuses '--memory-path: expected --memory device as well' fabric --memory-path staged
refuses '--failover: expected several rails as well' fabric --failover
refuses '--failover: expected several rails' collective all_gather --failover --rails 1
refuses '--direction: expected another operation as well' fabric send_recv --direction two-way
refuses '--policy: expected without --isolated' overlap "${pair[@]}" --isolated --policy dma
refuses '--units: expected without --isolated' overlap "${pair[@]}" --isolated --units 8
refuses '--units: expected a policy with a partition' overlap "${pair[@]}" --policy dma --units 8
refuses '--ranges: expected the engine pieces or auto' layer --engine kernel --ranges 2
refuses "--streams 3: expected a whole number from 1 to 2" layer --streams 3
refuses "--joined: unknown 'maybe': expected no or yes" layer --joined maybe
refuses '--mode loop: expected adaptive' layer --mode loop
refuses '--dtype int8: expected bf16, fp16, fp32 or fp8_e4m3' layer --dtype int8
refuses '--dtype fp16: expected bf16, fp32 or fp8_e4m3, which mlp activates' layer mlp --dtype fp16
refuses '--model: expected without --shapes' layer --shapes 64x64x64 --model llama70b
refuses 'rows 63: expected a multiple of 2, by 2 ranks' layer --shapes 63x64x64
refuses 'of layers also none, pieces, auto' layer --engine piecs
refuses "--gemm: unknown engine 'foo'" layer --gemm foo
refuses "unknown layer 'gather-gem'" layer gather-gem
refuses "unknown model 'llama7'" layer --model llama7
refuses 'expected a model, which has its heads' layer attention --shapes 64x64x64
refuses '--collectives: expected --measure as well' advise "${pair[@]}" --collectives all_gather
refuses '--json: expected without --score or --table' advise "${pair[@]}" --table t.json --json a.jsonl
refuses '--device: expected without --score' advise --score a.jsonl --device host:2

# Limits.
refuses '--iterations 0: expected a whole number from 1 to 1000000' "${local_copy[@]}" --iterations 0
refuses '--iterations 1000001: expected a whole number from 1 to' "${local_copy[@]}" --iterations 1000001
refuses '--iterations 1.5: expected a whole number from 1 to' "${local_copy[@]}" --iterations 1.5
refuses '--seconds 0: expected a number of seconds above 0, at most 86400' "${local_copy[@]}" --seconds 0
refuses '--seconds 1e9: expected a number of seconds above 0, at most 86400' "${local_copy[@]}" --seconds 1e9
refuses '--seconds nan: expected a number of seconds' "${local_copy[@]}" --seconds nan
refuses '--warm-up -1: expected a number of seconds from 0 to 86400' "${local_copy[@]}" --warm-up -1
refuses '-c -1: expected a whole number from 0 to' collective all_gather -c -1
refuses '-n 0: expected a whole number from 1 to 1000000' collective all_gather -n 0
refuses '--grid 0: expected a whole number from 1 to 65536' copy --grid 0
refuses '--link-gbit 0: expected a number of Gbit/s above 0, at most' fabric --link-gbit 0

# Mistyped.
refuses "unknown command 'cpy' (did you mean 'copy'?): expected a command, one of info, gemm" cpy
refuses "unknown flag '--iteratons' (did you mean '--iterations'?)" "${local_copy[@]}" --iteratons 3
refuses "unknown flag '--iteratons' (did you mean '--iterations'?)" "${local_copy[@]}" --iteratons=3
refuses "unknown flag '--versoin' (did you mean '--version'?)" --versoin
refuses "unknown kind 'hots' (did you mean 'host'?)" gemm --device hots
refuses "(did you mean 'mi300x-8'?)" gemm --device sim:mi300x8
refuses "(did you mean 'llama'?)" gemm --set lama
refuses "(did you mean 'bf16'?)" gemm --dtype bf61
refuses "(did you mean 'model'?)" gemm --device sim:mi300x-8 --engine modl
refuses "(did you mean 'do_bench'?)" gemm --mode dobench
refuses "(did you mean 'kernel'?)" copy --executor kernle
refuses "(did you mean 'all_gather'?)" collective allgather --device host:2
refuses "(did you mean 'kernel'?)" collective all_gather --device host:2 --engine kernl
refuses "(did you mean 'bfloat16'?)" collective all_gather -d bflaot16
refuses "(did you mean 'sum'?)" collective all_reduce -o sun
refuses "(did you mean 'training'?)" overlap traning
refuses "(did you mean 'priority'?)" overlap --policy priorty
refuses "(did you mean 'write_imm'?)" fabric write_im
refuses "(did you mean 'quick'?)" run quik
refuses "(did you mean 'cuda'?)" run quick --device cud
# What was meant with other tools' words, with a kind of device left out, or as the name of a command.
refuses "unknown command 'all_gather' (did you mean 'duet collective all_gather'?)" all_gather --device host:2
refuses "unknown command 'gpt' (did you mean 'duet train gpt'?)" gpt
refuses "unknown kind 'cpu' (did you mean 'host'?)" gemm --device cpu
refuses "unknown kind 'gpu' (did you mean 'cuda'?)" gemm --device gpu
refuses "unknown kind 'h200-4' (did you mean 'sim:h200-4'?)" copy --device h200-4
refuses "unknown kind 'mi300x' (did you mean 'sim:mi300x'?)" copy --device mi300x
refuses "unknown platform 'h200-3' (did you mean 'sim:h200:devices=3'?)" copy --device sim:h200-3
refuses "--json is given 2 times: expected once" gemm --json a --json b
refuses "--json: expected FILE" gemm --json
refuses "unknown flag '-q' (see duet gemm --help)" gemm -q
for command in gemm train; do
  expect_code 0 $command --help
  cp out of_flag
  expect_code 0 help $command
  diff of_flag out > /dev/null || fail "duet help $command is not duet $command --help"
done
expect_code 0 info
grep -q '^ *simulated machines: sim:h200, sim:h200-4, ' out || fail "duet info names no platforms: $(cat out)"
expect_code 0 help
grep -q '^  collective ' out || fail "duet help: $(cat out)"
refuses "unknown command 'gem' (did you mean 'gemm'?)" help gem
[[ $(FI_PROVIDER=verbs "$duet" fabric --nodes 2 2>&1 > /dev/null | grep -c 'expected one of $') == 0 ]] ||
  fail "FI_PROVIDER=verbs: providers are expected, and none is named"

# No line of help is wider than the page.
for command in "" info gemm copy collective halo fabric overlap train advise run health nccl-env; do
  expect_code 0 $command --help
  [[ $(awk 'length > 100' out | wc -l) == 0 ]] || fail "duet $command --help: $(awk 'length > 100' out)"
done

# nccl-tests' flags: the values with which Duet measures anyway, and for others what it has instead.
sweep=(collective all_gather --device sim:h200-4 --engine vendor-model -e 1K -f 2)
expect_code 0 "${sweep[@]}" -b 8 -p 1 -m 1 -z 0 -y 0 -T 60 -N 1 -a 3 -C 0 -S 0 -R 0 -x 0 -D 0 -M 0 -u 0 -I 0 -K 0
grep -q 'all_gather: sizes below 16 bytes are left out' err || fail "-b 8: $(cat err)"
refuses 'of 8 bytes: expected at least 16' collective all_gather --device sim:h200-4 -b 8
refuses '-J out.json: expected no such flag: --json' "${sweep[@]}" -b 8 -J out.json
refuses '-m 4: expected 1: calls are not grouped' "${sweep[@]}" -m 4
refuses '--engine nccl,nccl-window' "${sweep[@]}" -R 2
refuses '--engine nccl,nccl-zero-cta' "${sweep[@]}" -x 2
refuses '-a 1: expected 3' "${sweep[@]}" -a 1
refuses "unexpected word '1': --check takes no value; nccl-tests' --check is -c" "${sweep[@]}" --check 1
refuses "--table: unknown 'nvidia': expected nccl" "${sweep[@]}" --table nvidia
expect_code 0 collective all_gather -g 3 -b 4K --iterations 1 --engine dma
grep -q '^collective on host:3' out || fail "-g 3 without --device: $(cat out)"
expect_code 0 gemm --device sim:mi300x --dtype bfloat16,half --shapes 64x64x64
expect_code 0 collective all_reduce --device sim:h200-4 --engine dma,kernel -b 4 -e 1K -f 4 --table nccl
[[ $(grep -c '^ *1024 *256 *float *sum *-1 *[0-9.]* *[0-9.]* *[0-9.]* *0 *[0-9.]* *[0-9.]* *[0-9.]* *0$' out) == 2 ]] ||
  fail "--table nccl: $(cat out)"
grep -q '^# *(B) *(elements) *(us) *(GB/s) *(GB/s) *(us) *(GB/s) *(GB/s)' out || fail "--table nccl: $(cat out)"
[[ $(grep -c '^# Avg bus bandwidth    : [0-9.]' out) == 2 ]] || fail "--table nccl: $(cat out)"
finish
