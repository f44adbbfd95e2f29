#!/usr/bin/env bash
# Collectives on memory that other processes cannot map: own_memory.sh PROGRAM, which is
# collective_ranks. dma and auto send through slots; kernel says why it cannot.
program=$(realpath "$1")
source "$(dirname "$0")/../scratch.sh"
source "$here/ends.sh"

end_with() {  # CODE PROCESSES ENGINE
  start "$2" timeout 100 "$program" "$3" host own
  all_end_with "$1" "$3, $2 processes"
}

for engine in dma auto; do
  end_with 0 2 $engine
  end_with 0 3 $engine
done
end_with 1 2 kernel
says err.0 "the other ranks' receive buffers: rank 0: memory of rank 1"
finish
