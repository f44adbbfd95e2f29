#!/usr/bin/env bash
# Runs communicator_ranks as two processes of two ranks, or of two and one: communicator.sh PROGRAM.
program=$(realpath "$1")
source "$(dirname "$0")/../scratch.sh"
export MASTER_ADDR=127.0.0.1

device_1=host:2  # of process 1
provider=()      # of the rails between the processes; none: they are one node

# both CODE SCENARIO [ENGINE [ENGINE OF PROCESS 1]]: both processes end with CODE.
both() {
  local code=$1 scenario=$2 first=${3:-auto} ends=(0 0) begin=$SECONDS other
  export MASTER_PORT=$((port += 2)) WORLD_SIZE=2
  RANK=0 timeout 60 "$program" "$scenario" "$first" host:2 "${provider[@]}" 2> err.0 & other=$!
  RANK=1 timeout 60 "$program" "$scenario" "${4:-$first}" "$device_1" "${provider[@]}" 2> err.1 ||
    ends[1]=$?
  wait $other || ends[0]=$?
  [[ ${#provider[@]} -gt 0 && ${ends[*]} == "77 77" ]] && return  # no such rails here
  [[ ${ends[*]} == "$code $code" ]] && ((SECONDS - begin <= 15)) && return
  fail "$*: exit ${ends[*]} after $((SECONDS - begin)) s"
}

both 0 open auto
both 0 open kernel
both 0 own auto
both 0 own dma
both 0 throw
for engine in dma kernel auto; do both 0 again $engine; done
for name in shm 'tcp;ofi_rxm'; do
  provider=("$name")
  both 0 open dma
  both 0 again dma
done
provider=()
for engine in dma kernel; do both 0 frees $engine; done
both 0 refuse dma
both 0 refuse kernel
both 0 die
both 0 beside dma
both 0 beside kernel

# What one process sees of its links is not what the other sees.
device_1=host
for engine in dma kernel auto; do both 0 large $engine; done
both 0 open dma
both 0 own dma
device_1=host:2

both 2 open warp
both 2 open kernel auto
says err.0 "expected one engine: process 0 asks for 'kernel', process 1 for 'auto'"
finish
