#!/usr/bin/env bash
# The cases of ends_on_gpus_test: first what must have the GPUs' memory for itself, then those in which
# ranks end, several at once, since each mostly waits, but no more than 24 ranks: with 80 processes on four
# GPUs the driver is so slow that the test's time limits pass. Lines begin with the number of their process.
#   ends_on_gpus.sh PROGRAM [CASES]    CASES as --gtest_filter has them (all); exit code 77: skipped
set -uo pipefail
source "$(dirname "$0")/../../bench/on_gpu/common.sh"
program=${1:?usage: ends_on_gpus.sh PROGRAM [CASES]}
cases=${2:-*EndsOnGpus*}
if [[ $("$program" --gtest_list_tests --gtest_filter="$cases") != *EndsOnGpus* ]]; then
  echo "ends_on_gpus.sh: expected cases of $program --gtest_list_tests, not '$cases'" >&2
  exit 2
fi
code=0
alone=$("$program" --gtest_filter='BuffersOnGpus*' --gtest_brief=1 2>&1) || code=$?
echo "$alone"
[[ $alone != *SKIPPED* ]] || exit 77
shards=$((24 / $(count_gpus))) pids=()
for ((shard = 0; shard < shards; ++shard)); do
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard "$program" --gtest_filter="$cases" \
    --gtest_brief=1 2>&1 | sed -u "s/^/[$shard] /" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
exit "$code"
