#!/usr/bin/env bash
# Runs the steps of a plan on GPUs of one machine, those of different GPUs side by side, and leaves out
# what would not end in time. For machines that can be had for a while only.
#   bench/plan.sh PLAN OUT SECONDS
# PLAN has a step a line: GPUS ESTIMATE NAME COMMAND, such as
#   0,1 100 ddp  PARTS=ddp bench/on_gpu.sh parallel $OUT
# GPUS: numbers as for CUDA_VISIBLE_DEVICES, or `all`; steps of the same GPUS run in their order, those of
# `all` when the others are done. ESTIMATE: seconds; a step that would end after SECONDS is left out.
# COMMAND is a line of bash with $OUT; lines that begin with # are remarks. OUT gets NAME.log of each
# step, and `steps` with their times and exit codes. A step that `steps` has is not run again.
set -uo pipefail
if [[ $# != 3 || ! -r $1 || ! $3 =~ ^[0-9]+$ ]]; then
  echo "plan.sh: expected a file with a plan, a folder for results, and seconds" >&2
  exit 2
fi
plan=$1 limit=$3
mkdir -p "$2"
export OUT
OUT=$(realpath "$2")
touch "$OUT/steps"

run_step() {
  local gpus=$1 estimate=$2 name=$3 command=$4 began=$SECONDS code=0
  grep -q " $name\$" "$OUT/steps" && return
  if ((began + estimate > limit)); then
    echo "left out at ${began}s: $name of $gpus" >> "$OUT/steps"
    return
  fi
  (
    [[ $gpus == all ]] || export CUDA_VISIBLE_DEVICES=$gpus
    bash -c "$command"
  ) > "$OUT/$name.log" 2>&1 || code=$?
  echo "${began}s to ${SECONDS}s, exit code $code: $name" >> "$OUT/steps"
}

# The steps of these GPUs in their order.
run_steps() {
  local gpus estimate name command
  while read -r gpus estimate name command; do
    [[ $gpus != "$1" ]] || run_step "$gpus" "$estimate" "$name" "$command" < /dev/null
  done < "$plan"
}

for gpus in $(awk '$1 !~ /^#/ && NF && $1 != "all" {print $1}' "$plan" | sort -u); do
  run_steps "$gpus" &
done
wait
run_steps all
cat "$OUT/steps"
