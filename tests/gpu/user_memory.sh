#!/usr/bin/env bash
# A program's own GPU memory of every kind, in one process and in one for each GPU: user_memory.sh
# PROGRAM. Exit 77 where there are no two GPUs.
program=$(realpath "$1")
source "$(dirname "$0")/../scratch.sh"
source "$here/../multiprocess/ends.sh"
if [[ -n ${CUDA_VISIBLE_DEVICES-} ]]; then
  gpus=$(tr , '\n' <<< "$CUDA_VISIBLE_DEVICES" | wc -l)
else
  gpus=$(nvidia-smi -L 2> /dev/null | wc -l) || true
fi
((gpus > 1)) || { echo "skipped: needs two NVIDIA GPUs"; exit 77; }

# processes KIND ENGINE WAY: in processes, by an algorithm that has WAY in its name.
processes() {
  start "$gpus" timeout -s KILL 60 "$program" "$1" "$2" $((port + 1))
  all_end_with 0 "$1 by $2 in $gpus processes"
  cat out.0
  [[ $(grep -c "$3" out.0) == 2 ]] || fail "$1 by $2: expected the algorithms with '$3'"
}

for kind in malloc segments; do
  for engine in dma kernel; do
    timeout -s KILL 60 "$program" $kind $engine > out.0 2> err.0 || fail "$kind by $engine"
  done
  processes $kind dma push
  processes $kind kernel kernel
done
processes pool dma slots
processes pool auto slots
finish
