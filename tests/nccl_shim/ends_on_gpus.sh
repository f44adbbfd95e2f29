#!/usr/bin/env bash
# The cases of ends_on_gpus_test: first what must have the GPUs' memory for itself, then those in which
# ranks end, twelve at once, since each mostly waits. ends_on_gpus.sh PROGRAM; 77: skipped
set -uo pipefail
program=${1:?usage: ends_on_gpus.sh PROGRAM}
code=0
alone=$("$program" --gtest_filter='BuffersOnGpus*' --gtest_brief=1 2>&1) || code=$?
echo "$alone"
[[ $alone != *SKIPPED* ]] || exit 77
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
shards=12 pids=()
for ((shard = 0; shard < shards; ++shard)); do
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard "$program" --gtest_filter='*EndsOnGpus*' \
    --gtest_brief=1 > "$out/$shard" 2>&1 &
  pids+=($!)
done
for ((shard = 0; shard < shards; ++shard)); do wait "${pids[shard]}" || code=$?; done
cat "$out"/*
exit "$code"
