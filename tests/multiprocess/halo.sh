#!/usr/bin/env bash
# Runs `duet halo` as several processes: halo.sh PROGRAM [killed] [DEVICE]. One is killed, or stopped, in
# the middle of a case: the others end and say which rank is gone. killed: nothing else is tested.
program=$(realpath "$1")
part=${2:-all}
device=${3:-host}
processes=${PROCESSES:-3}  # of which one is killed or stopped
source "$(dirname "$0")/../scratch.sh"
source "$here/ends.sh"
halo=("$program" halo --device "$device")

short=(--nx 37 --ny 11 --iterations 3 --warm-up 0)
# ends SIGNAL ENGINE SECONDS: rank 1 gets the signal; the others end by then and name it.
ends() {
  local begin victim
  start "$processes" "${halo[@]}" --nx 512 --ny 300 --engine "$2" --overlap yes --norm device --mode sustained --seconds 600
  sleep 2
  begin=$SECONDS
  victim=${pids[1]}
  kill "-$1" "$victim"
  unset "pids[1]"
  all_end_with 1 "$1 $2"
  kill -9 "$victim" 2> /dev/null || true
  wait "$victim" 2> /dev/null || true
  grep -Eq "(rank|process) 1 \(pid $victim on .*\) .*gone" out.0 err.0 || fail "$1 $2: it is not said who is gone"
  ((SECONDS - begin <= $3)) || fail "$1 $2: took $((SECONDS - begin)) s to end"
}

if [[ $part == all ]]; then
  start 3 "${halo[@]}" "${short[@]}" --engine dma,kernel --norm all --scaling strong --json a.jsonl
  all_end_with 0
  [[ $(grep -c '"benchmark":"halo",.*"verified":true' a.jsonl) == 32 ]] || fail "all verified"
  [[ $(grep -c '"benchmark":"halo_scaling"' a.jsonl) == 16 ]] || fail "scaling"

  if command -v mpirun > /dev/null; then
    for size in 2 3; do
      timeout 100 mpirun -n $size --oversubscribe --allow-run-as-root "$program" halo --device host \
        --nx 37 --ny 11 --iterations 3 --warm-up 0 --engine mpi --norm all --json mpi.$size.jsonl \
        > out.0 2> err.0 || fail "mpi on $size ranks"
      [[ $(grep -c '"engine":"mpi",.*"verified":true' mpi.$size.jsonl) == 8 ]] || fail "mpi on $size ranks: all verified"
    done
  fi

  start 2 "${halo[@]}" "${short[@]}" --engine host
  all_end_with 1
  says out.0 'threads of one process, not 2' "the reference is skipped"
  start 2 "${halo[@]}" "${short[@]}" --engine dma --ranks 1,2
  all_end_with 0
  start 3 "${halo[@]}" "${short[@]}" --engine dma --ranks 2
  all_end_with 1
  says out.0 'with several processes a grid has one rank or all 3' "a part of the ranks"
  start 2 "${halo[@]}" --nx 37 --ny 1 --engine dma
  all_end_with 2
  [[ $(cat err.*) == *"ny 1: expected at least a row for each of 2 ranks"* ]] || fail "too few rows"
fi
for engine in dma kernel; do ends KILL $engine 15; done
ends STOP dma 30  # of which 10 s for the answer that does not come
finish
