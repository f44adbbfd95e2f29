#!/usr/bin/env bash
# The drop-in on host devices, preloaded into a program of several processes: all data are right, and
# what it should take over does not come to NCCL. takes_over.sh TESTS [LIBRARY CUDA]: with the drop-in
# LIBRARY for GPUs, on a stand-in for libcuda.
set -euo pipefail
tests=${1:?usage: takes_over.sh TESTS [LIBRARY CUDA]}
preloaded=${2:-$tests/nccl_shim_host/libduet-nccl.so}${3:+:$3}
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
export LD_LIBRARY_PATH=$tests:$tests/fake_nccl
fail() { echo "$*" >&2 && exit 1; }

# run RANKS PART BY_NCCL [VARIABLE=VALUE...]: BY_NCCL calls of each rank come to NCCL.
run() {
  local ranks=$1 part=$2 by_nccl=$3 out
  shift 3
  out=$(env LD_PRELOAD="$preloaded" DUET_NCCL_LOG=info "$@" \
    timeout 120 "$tests/nccl_ranks" "$ranks" "$part" 2>&1) || fail "$part on $ranks ranks failed: $out"
  [[ -z $by_nccl ]] || ! grep 'by NCCL' <<<"$out" | grep -v " $by_nccl calls" ||
    fail "$part on $ranks ranks: expected $by_nccl calls by NCCL: $out"
  last=$out
}
said() { grep -qF -- "$1" <<<"$last" || fail "expected: $1"$'\n'"got: $last"; }

# Processes that stay alive and write their metrics after 10 s, while others run; the end of this test looks at
# them.
metrics=$(mktemp -d)
alive=$(mktemp -d)
env LD_PRELOAD="$preloaded" DUET_NCCL_MIN_ALL_GATHER=8K DUET_NCCL_METRICS="$alive/%p.prom" \
  timeout 120 "$tests/nccl_ranks" 2 killed_alive >"$alive/said" 2>&1 &
of_alive=$!
trap 'kill $of_alive 2>/dev/null || true; rm -rf "$metrics" "$alive"' EXIT

large=DUET_NCCL_MIN_ALL_GATHER=8K # of 12 calls, half are larger
for ranks in 2 3 4; do
  run $ranks calls 6 $large
  said "communicator of $ranks ranks: all_gather from 8192 B by copy engines; the rest is forwarded"
  run $ranks streams 6 $large
  run $ranks streams_of_threads 8 $large
  run $ranks group 1 $large
done
run 2 signals 0 $large
run 2 configured 2 $large # one with a limit of SMs, and one that is simulated
run 4 split 6 $large
said "communicator of 2 ranks: all_gather from 8192 B"
run 2 split 12 $large # into parts of one rank, of which nothing is said
[[ $last != *"new communicator"* ]] || fail "a communicator of one rank is spoken of: $last"
run 4 revoked 8 $large
run 2 refused_in_group 1 $large
run 2 window_refused_in_group 0 $large
run 2 together 4 $large
run 2 together_on_one 8 $large # all calls
said "all calls are forwarded: not all ranks create it together with the same others"
run 2 split_together 8 $large
said "all calls of the new communicator are forwarded: a rank creates it together with others in one group"
said "all calls are forwarded: another rank forwards them"
run 2 simulated 1 $large # that of the group that is simulated
run 3 shrink "" $large
said "communicator of 2 ranks: all_gather from 8192 B"
run 3 killed_and_shrunk 3 $large # 4 of the 6 calls are behind the death
said "communicator of 2 ranks: all_gather from 8192 B"
run 2 finalize 0 $large
run 2 calls 0 DUET_NCCL_MIN_ALL_GATHER=0
run 2 captured 7 $large # 3 of them in a graph; of 8 others, half are larger
run 2 forked "" $large
grep -q "rank 0: 2 calls" <<<"$last" || fail "expected 2 calls of rank 0 by NCCL: $last"
grep -q "rank 1: 4 calls" <<<"$last" || fail "expected 4 calls of rank 1 by NCCL: $last"
run 2 one_thread 12 $large # 6 calls of each rank
run 4 one_thread 24 $large
run 2 rank_by_rank 12 $large
run 4 one_thread_split 48 $large
said "communicator of 2 ranks: all_gather from 8192 B"
run 4 init_all 24 $large
said "communicator of 4 ranks: all_gather from 8192 B"
run 2 last_error "" $large
run 2 killed 1 $large
run 2 killed_behind 2 $large
[[ $last != *"abort: "* ]] || fail "an abort waits in vain: $last"
run 2 killed_at_once 0 DUET_NCCL_MIN_REDUCE_SCATTER=1M
run 3 reduce_scatter 0 DUET_NCCL_MIN_REDUCE_SCATTER=1M
said "communicator of 3 ranks: reduce_scatter from 1048576 B by copy engines; the rest is forwarded"
run 3 all_reduce 0 DUET_NCCL_MIN_ALL_REDUCE=1M
said "communicator of 3 ranks: all_reduce from 1048576 B by copy engines; the rest is forwarded"
# Of messages, the large ones.
messages=DUET_NCCL_MIN_SEND_RECV=8K
for ranks in 2 3 4; do
  small=$((2 * (ranks - 1))) # in each of 5 exchanges, beside an all-gather
  run $ranks messages $((5 * (small + 1) + 3)) $messages # one is simulated
  said "communicator of $ranks ranks: send and receive from 8192 B by copy engines; the rest is forwarded"
done
run 2 messages $((5 * 2 + 3)) $messages $large
run 3 messages $((5 * 4 + 3)) $messages $large DUET_NCCL_PACKETS=1K
run 2 messages_of_one_thread 0 $messages
run 3 messages_of_one_thread 0 $messages
run 3 killed_in_message "" $messages
run 2 nonblocking_messages 6 $messages
run 2 messages_captured 2 $messages
run 5 calls 12 $messages
said "communicator of 5 ranks: all calls are forwarded"
run 2 unlike 12 $messages
said "all calls are forwarded: ranks have different settings (DUET_NCCL_...)"
run 2 calls 12 $messages DUET_NCCL_MODE=staged
said "communicator of 2 ranks: all calls are forwarded"
# As packets: the small calls, of 128 or 192 bytes together.
for ranks in 2 3; do
  run $ranks calls 0 $large DUET_NCCL_PACKETS=1K
  said "communicator of $ranks ranks: calls up to 1024 B as packets; all_gather from 8192 B by copy engines; the rest is forwarded"
  run $ranks streams 0 $large DUET_NCCL_PACKETS=1K
  run $ranks group 0 $large DUET_NCCL_PACKETS=1K
done
run 2 group_of_two 0 $large DUET_NCCL_PACKETS=1K
run 2 captured_small 0 DUET_NCCL_PACKETS=16K
run 3 captured_small 0 DUET_NCCL_PACKETS=32K
run 3 killed_in_launch 0 DUET_NCCL_PACKETS=32K
run 2 one_thread 0 $large DUET_NCCL_PACKETS=1K
run 2 killed 0 $large DUET_NCCL_PACKETS=64K
run 3 restarted "" DUET_NCCL_PACKETS=1K
# By a kernel: what is neither packets nor copies, and captured calls that would be copies.
for ranks in 2 3 4; do
  run $ranks calls 0 DUET_NCCL_KERNEL=64K
  said "communicator of $ranks ranks: calls up to 65536 B by a kernel; the rest is forwarded"
  run $ranks group 0 DUET_NCCL_KERNEL=64K
  run $ranks captured_small 0 DUET_NCCL_KERNEL=64K
done
run 2 calls 0 $large DUET_NCCL_KERNEL=64K DUET_NCCL_KERNEL_BROADCAST=0 DUET_NCCL_PACKETS=1K
said "communicator of 2 ranks: calls up to 1024 B as packets; all_gather up to 8191 B, all_to_all up to 65536 B, reduce_scatter up to 65536 B, all_reduce up to 65536 B, captured all_gather up to 65536 B by a kernel; all_gather from 8192 B by copy engines; the rest is forwarded"
run 2 captured 0 $large DUET_NCCL_KERNEL=16K
run 2 captured 3 $large DUET_NCCL_KERNEL=8K # those in the graph, which are larger
run 2 captured 7 $large DUET_NCCL_KERNEL_ALL_REDUCE=1M
run 2 captured 0 DUET_NCCL_MIN_ALL_GATHER=1 DUET_NCCL_KERNEL_ALL_GATHER=1M
said "communicator of 2 ranks: captured all_gather up to 1048576 B by a kernel; all_gather from 1 B by copy engines; the rest is forwarded"
run 3 all_reduce 0 DUET_NCCL_KERNEL_ALL_REDUCE=64M
run 2 one_thread 0 $large DUET_NCCL_KERNEL=64K
run 2 killed 0 DUET_NCCL_KERNEL=64K
run 3 killed_in_launch 0 DUET_NCCL_KERNEL=64K
run 3 restarted "" DUET_NCCL_KERNEL=64K
# Groups of messages that are an all_to_all: four of them, two captured, beside one whose parts have gaps and one
# without own messages.
groups=DUET_NCCL_GROUPS=all_to_all
for ranks in 2 3; do
  others=$((2 * ranks + 2 * (ranks - 1)))
  run $ranks grouped_all_to_all $((4 * 2 * ranks + others)) DUET_NCCL_KERNEL=64K
  run $ranks grouped_all_to_all $others $groups DUET_NCCL_KERNEL=64K
  run $ranks grouped_all_to_all $others $groups DUET_NCCL_PACKETS=1K DUET_NCCL_KERNEL_ALL_TO_ALL=64K
  run $ranks grouped_all_to_all $((2 * ranks + others)) $groups DUET_NCCL_PACKETS=1K DUET_NCCL_MIN_ALL_TO_ALL=8K
  run $ranks grouped_all_to_all $((2 * ranks + others)) $groups DUET_NCCL_PACKETS=1K $messages # large ones as messages
done
run 3 messages $((5 * (4 + 1) + 3)) $groups $messages # they are no all_to_all
run 2 messages_of_one_thread 0 $groups $messages
# Nonblocking: all ranks have agreed when the first sees that the creation is done.
for part in nonblocking nonblocking_group nonblocking_late; do
  run 2 $part 6 $large
  said "communicator of 2 ranks: all_gather from 8192 B by copy engines; the rest is forwarded"
done
run 3 nonblocking 6 $large NCCL_COMM_BLOCKING=0
said "communicator of 3 ranks: all_gather from 8192 B by copy engines; the rest is forwarded"
run 2 nonblocking_stopped "" $large
run 2 nonblocking_finalize 0 $large
run 2 nonblocking_aborted "" $large
# Through slots.
for ranks in 2 3; do
  run $ranks calls 6 $large DUET_NCCL_MODE=staged
  said "communicator of $ranks ranks: all_gather from 8192 B by copy engines through slots; the rest is forwarded"
  run $ranks group 1 $large DUET_NCCL_MODE=staged
done
run 2 one_thread 12 $large DUET_NCCL_MODE=staged
run 2 killed 1 $large DUET_NCCL_MODE=staged
run 2 restarted "" $large DUET_NCCL_MODE=staged
run 3 killed_and_shrunk 3 $large DUET_NCCL_MODE=staged
run 3 all_reduce 0 DUET_NCCL_MIN_ALL_REDUCE=1M DUET_NCCL_MODE=staged
if [[ $# == 3 ]]; then
  run 2 failed_device 1 $large
  said "cuStreamWaitEvent: an error of the stand-in"
  for part in aborted_behind_copy aborted_behind_copy_small; do
    run 2 $part 0 $large DUET_NCCL_PACKETS=1K
    [[ $last != *"abort: "* ]] || fail "$part: an abort waits in vain: $last"
  done
  for ranks in 2 3; do
    for part in segments segments_remapped segments_of_one_thread; do
      run $ranks $part 0 $large
      [[ $last != *"goes through staging buffers"* ]] || fail "segments are not lent: $last"
    done
  done
  for part in segments_not_exportable segments_few_descriptors segments_come_and_go; do
    run 2 $part 0 $large
  done
  run 2 segments_refused 0 $large
  said "memory of cuMemCreate goes through staging buffers: not enough file descriptors (ulimit -n)"
  said "memory of cuMemCreate goes through staging buffers: segments of rank 0 are not lent"
  run 2 killed_with_segments 1 $large
fi

# An NCCL with a function that the drop-in does not know: a line where calls are taken over.
unknown="NCCL 2.28.99 has functions that this drop-in does not know: ncclOfTomorrow;"
[[ $last != *"does not know"* ]] || fail "a function of the stand-in is not known: $last"
run 2 calls 6 $large LD_LIBRARY_PATH="$tests:$tests/fake_nccl_newer"
said "$unknown what they enqueue is not in order with calls that are taken over"
run 2 calls 12 LD_LIBRARY_PATH="$tests:$tests/fake_nccl_newer"
[[ $last != *"does not know"* ]] || fail "nothing is taken over, but: $last"

# Metrics: a file for each process, of 12 calls and of what is forwarded as a whole.
counted() { # counted SAMPLE VALUE: in each file, but for the process's own label
  local file
  for file in "$metrics"/*.prom; do
    grep -qxF "duet_nccl_call_bytes$1 $2" <(sed 's/pid="[0-9]*",//' "$file") ||
      fail "expected $1 $2: $(cat "$file")"
  done
}
run 2 calls 6 $large DUET_NCCL_METRICS="$metrics/%h-%p.prom"
[[ $(find "$metrics" -name "$(hostname)-*.prom" | wc -l) == 2 && $(find "$metrics" -type f | wc -l) == 2 ]] ||
  fail "expected a file for each of 2 processes: $(ls -a "$metrics")"
[[ $(grep -ho 'rank="[01]"' "$metrics"/*.prom | sort -u | wc -l) == 2 ]] || fail "ranks: $(cat "$metrics"/*.prom)"
sed -i 's/,rank="[01]"//' "$metrics"/*.prom
labels='communicator="0",ranks="2",call="all_gather"'
counted "_count{$labels,by=\"duet\",means=\"copies\"}" 6
counted "_sum{$labels,by=\"duet\",means=\"copies\"}" $((6 * 16384))
counted "_bucket{$labels,by=\"duet\",means=\"copies\",le=\"4096\"}" 0
counted "_bucket{$labels,by=\"duet\",means=\"copies\",le=\"65536\"}" 6
counted "_bucket{$labels,by=\"nccl\",le=\"4096\"}" 6
counted "_sum{$labels,by=\"nccl\"}" $((6 * 128))
if command -v promtool >/dev/null; then
  for file in "$metrics"/*.prom; do promtool check metrics <"$file" >/dev/null || fail "promtool: $file"; done
fi
rm "$metrics"/*
run 2 calls 0 DUET_NCCL_KERNEL=16K DUET_NCCL_PACKETS=1K DUET_NCCL_METRICS="$metrics/%p.prom"
sed -i 's/,rank="[01]"//' "$metrics"/*.prom
counted "_count{$labels,by=\"duet\",means=\"packets\"}" 6
counted "_sum{$labels,by=\"duet\",means=\"kernel\"}" $((6 * 16384))
rm "$metrics"/*
run 2 calls 6 $large DUET_NCCL_METRICS="$metrics/nowhere/file.prom"
said "DUET_NCCL_METRICS: $metrics/nowhere/file.prom: No such file or directory"
run 4 split 12 DUET_NCCL_METRICS="$metrics/%p.prom" # parts of 2 ranks, and nothing is taken over
sed -i 's/,rank="[01]"//' "$metrics"/*.prom
counted "_count{$labels,by=\"nccl\"}" 12

# Ranges of NVTX, where the build has it.
if [[ -e $tests/libnvtx_tool.so ]]; then
  tool=NVTX_INJECTION64_PATH=$tests/libnvtx_tool.so
  run 2 calls 6 $large $tool
  [[ $(grep -cx 'Duet: all_gather 16384 by copies' <<<"$last") == 12 && $(grep -cx 'Duet: end' <<<"$last") == 12 ]] ||
    fail "expected a range for each of 6 calls of 2 ranks: $last"
  run 2 group 1 $large $tool # two of three calls in a group
  [[ $(grep -cx 'Duet: group_end 2' <<<"$last") == 2 ]] || fail "expected a range of the group's end: $last"
  run 2 messages "" $messages $tool
  said "Duet: send 8192 by copies"
  said "Duet: receive 8192 by copies"
  run 2 calls 0 DUET_NCCL_KERNEL=64K $tool
  said "Duet: all_gather 16384 by kernel"
fi

# Thresholds that are shipped: of two H200, unless a variable says others; not of models that differ.
h200=(HOST_GPU_MODEL='NVIDIA H200')
run 2 calls 0 "${h200[@]}" # as packets
said "communicator of 2 ranks: calls up to 262144 B as packets; all_gather from 16777216 B, all_to_all from 16777216 B, broadcast from 67108864 B, reduce_scatter from 268435456 B, all_reduce from 268435456 B, send and receive from 16777216 B by copy engines; the rest is forwarded; by the thresholds that are shipped for its devices"
run 2 calls 6 "${h200[@]}" $large
[[ $last != *"shipped"* ]] || fail "thresholds of both kinds: $last"
run 2 calls 12 "${h200[@]}" DUET_NCCL_MODE=off
run 2 unlike_models 12 "${h200[@]}"
said "no threshold is set (DUET_NCCL_MIN_...), and none is shipped for 2 x Another GPU"
run 3 calls 12 "${h200[@]}"
said "no threshold is set (DUET_NCCL_MIN_...), and none is shipped for 3 x NVIDIA H200"
run 4 split 12 "${h200[@]}" # into parts of 2 ranks, but their parent is forwarded

# What is not taken over, and why.
run 2 calls 12
said "all calls are forwarded: no threshold is set (DUET_NCCL_MIN_...)"
run 2 calls 12 $large DUET_NCCL_MODE=off
said "all calls are forwarded: DUET_NCCL_MODE=off"
run 2 calls 12 $large DUET_NCCL_RANKS=3
said "communicator of 2 ranks: all calls are forwarded: DUET_NCCL_RANKS=3"
run 4 split 12 $large DUET_NCCL_RANKS=4
run 2 calls 6 $large DUET_NCCL_RANKS=2
run 2 calls 12 $large NCCL_COMM_ID=127.0.0.1:1
said "all calls are forwarded: NCCL_COMM_ID is set"
if [[ $# == 3 ]]; then
  for variable in CUDA_DEVICE_MAX_CONNECTIONS CUDA_LAUNCH_BLOCKING; do
    run 2 calls 12 $large $variable=1
    said "all calls are forwarded: $variable=1"
  done
fi
run 4 nonblocking_split 12 $large
said "ncclCommSplit: all calls of the new communicator are forwarded: it is nonblocking"
run 2 init_all 24
said "communicator of 2 ranks: all calls are forwarded: no threshold is set (DUET_NCCL_MIN_...)"
run 2 mixed 12 $large
said "not all ranks are on this machine with the drop-in and one /dev/shm"
run 2 calls 12 DUET_NCCL_MIN_ALL_GATHER=1M

# A wrong setting is NCCL's failure, and not the end of the program.
! out=$(LD_PRELOAD=$preloaded DUET_NCCL_MIN_ALL_GATHER=big \
  timeout 120 "$tests/nccl_ranks" 2 calls 2>&1) || fail "a wrong threshold is taken"
last=$out
said "ncclCommInitRank: DUET_NCCL_MIN_ALL_GATHER=big: expected a size, as 1M"
said "ncclCommInitRank: 4" # ncclInvalidArgument
! out=$(LD_PRELOAD=$preloaded DUET_NCCL_PACKETS=100 timeout 120 "$tests/nccl_ranks" 2 calls 2>&1) ||
  fail "100 B of packets are taken"
last=$out
said "ncclCommInitRank: DUET_NCCL_PACKETS=100: expected a multiple of 128 bytes up to 1M, as 64K"

# Metrics of processes that have written them while they ran, and are killed.
count_alive() { find "$alive" -name '*.prom' | wc -l; }
for ((i = 0; i < 300 && $(count_alive) < 2; ++i)); do sleep 0.1; done
[[ $(count_alive) == 2 ]] || fail "no metrics of processes that run: $(cat "$alive/said")"
for file in "$alive"/*.prom; do kill -KILL "$(basename "$file" .prom)"; done
wait $of_alive || fail "processes that are killed: $(cat "$alive/said")"
sed -i 's/,rank="[01]"//' "$alive"/*.prom
metrics=$alive counted "_count{$labels,by=\"duet\",means=\"copies\"}" 6
metrics=$alive counted "_sum{$labels,by=\"nccl\"}" $((6 * 128))
[[ $(find "$alive" -type f | wc -l) == 3 ]] || fail "left beside metrics: $(ls -a "$alive")"

# Another program's creation may be under way: its shared memory is there for a moment only.
for ((i = 0; i < 100; ++i)); do
  compgen -G '/dev/shm/duet-nccl-*' >/dev/null || break
  sleep 0.1
done
! compgen -G '/dev/shm/duet-nccl-*' >/dev/null || fail "left: $(ls /dev/shm/duet-nccl-*)"
echo "calls are taken over"
