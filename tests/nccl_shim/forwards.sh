#!/usr/bin/env bash
# Calls reach the real NCCL by the preloaded library and by the replacement; bad settings are refused.
set -euo pipefail
shim=${1:?usage: forwards.sh SHIM TESTS} tests=${2:?}
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
fake=$tests/fake_nccl user=$tests/nccl_user
fail() { echo "$*" >&2 && exit 1; }

# Prints what `nccl_user PART` does with the environment VARIABLE=VALUE..., and its exit code.
run() {
  local part=$1 code=0
  shift
  env "$@" "$user" "$part" 2>&1 || code=$?
  echo "exit $code"
}
# expect TEXT OUTPUT: OUTPUT has a line with TEXT.
expect() { grep -qF -- "$1" <<<"$2" || fail "expected: $1"$'\n'"got: $2"; }

preload=(LD_LIBRARY_PATH="$fake:$tests" LD_PRELOAD="$shim/libduet-nccl.so")
replace=(LD_LIBRARY_PATH="$shim/replacement:$tests" DUET_NCCL="$fake/libnccl.so.2")

out=$(run forwarding LD_LIBRARY_PATH="$fake:$tests")
expect "exit 0" "$out"
expect "ncclReduce: $fake/libnccl.so.2" "$out"

out=$(run forwarding "${preload[@]}")
expect "exit 0" "$out"
expect "ncclReduce: $shim/libduet-nccl.so" "$out"
expect "ncclGetVersion: $fake/libnccl.so.2" "$out" # the preloaded library need not see it

out=$(run forwarding "${replace[@]}")
expect "exit 0" "$out"
expect "ncclReduce: $shim/replacement/libnccl.so.2" "$out"
expect "ncclGetVersion: $shim/replacement/libnccl.so.2" "$out"
out=$(run by_name "${replace[@]}")
expect "exit 0" "$out"
expect "ncclCommSuspend: the real NCCL is older and has no such function" "$out"

# Bad settings: one line, and a failure that NCCL's callers understand.
out=$(run reduce "${preload[@]}" DUET_NCCL_MODE=fast)
expect "ncclReduce: DUET_NCCL_MODE=fast: expected auto, staged or off" "$out"
expect "ncclReduce: 4" "$out"
expect "last error: ncclReduce: DUET_NCCL_MODE=fast" "$out"
out=$(run reduce "${preload[@]}" DUET_NCCL_LOG=all)
expect "DUET_NCCL_LOG=all: expected warn or info" "$out"
for ranks in 1 9 two; do
  out=$(run reduce "${preload[@]}" DUET_NCCL_RANKS=$ranks)
  expect "DUET_NCCL_RANKS=$ranks: expected a number from 2 to 8" "$out"
done
out=$(run reduce "${preload[@]}" DUET_NCCL_METRICS=/tmp/%r.prom)
expect "DUET_NCCL_METRICS=/tmp/%r.prom: expected %p (process), %h (host) or %% in the name of a file" "$out"
out=$(run reduce "${preload[@]}" DUET_NCCL_MIN_ALLGATHER=64M)
expect "DUET_NCCL_MIN_ALLGATHER: expected DUET_NCCL_MODE, " "$out"
expect "DUET_NCCL_MIN_ALL_GATHER, " "$out"
expect "ncclReduce: 4" "$out"
out=$(run reduce LD_LIBRARY_PATH="$shim/replacement:$tests")
expect "libnccl.so.2 is Duet's own: set DUET_NCCL to the real library's path" "$out"
expect "ncclReduce: 2" "$out"
expect "that is: the real NCCL cannot be used" "$out"
expect "exit 0" "$out"
out=$(run reduce LD_LIBRARY_PATH="$shim/replacement:$tests" DUET_NCCL=libnccl.so.2)
expect "expected the path of the real libnccl.so.2, with a slash" "$out"
out=$(run reduce LD_LIBRARY_PATH="$shim/replacement:$tests" DUET_NCCL="$shim/replacement/libnccl.so.2")
expect "is Duet's own: set DUET_NCCL to the real library's path" "$out"
out=$(run reduce "${replace[@]}" DUET_NCCL=/nowhere/libnccl.so.2)
expect "DUET_NCCL=/nowhere/libnccl.so.2: " "$out"

# A shell and its children start with it, and nothing is printed.
[[ $(LD_PRELOAD=$shim/libduet-nccl.so sh -c 'echo started; true' 2>&1) == started ]] ||
  fail "a shell does not start with libduet-nccl.so"
echo "calls are forwarded"
