#!/usr/bin/env bash
# Signals during a long call and a slow open, and journals that another run writes.
source "$(dirname "$0")/check.sh"

# One call takes seconds on one core.
taskset -pc "$(taskset -pc $$ | grep -oE '[0-9]+' | tail -n 1)" $$ > /dev/null
long=(gemm --device host --engine onednn --dtype fp32 --shapes 8192x8192x4096)
stopping='duet: stopping within a few seconds; again to stop now'

# until COMMAND...: waits until it succeeds.
until_true() {
  for _ in $(seq 600); do
    if "$@" 2> /dev/null; then return; fi
    sleep 0.05
  done
  fail "never came true: $*"
}
# A signal before that ends the process, or is lost: background processes of a shell ignore SIGINT.
# SIGTERM is what the program catches last; SIGALRM tells its handlers from those that libfabric
# has for a moment while it looks for rails.
catches_interrupts() {
  local caught
  caught=$(sed -n 's/^SigCgt:[[:space:]]*/0x/p' "/proc/$1/status")
  (((caught >> (15 - 1) & 1) && (caught >> (14 - 1) & 1)))
}
has_lines() { [[ $(wc -l < "$2") -ge $1 ]]; }
ends_with() {  # CODE PID
  code=0
  wait "$2" || code=$?
  [[ $code == "$1" ]] || fail "exit $code, expected $1: $(cat err)"
}

# The first signal is answered at once, the second ends the run and says how to go on.
for signals in 'INT INT' 'TERM INT' 'INT TERM'; do
  rm -f journal.jsonl
  "$duet" "${long[@]}" --json journal.jsonl > out 2> err &
  process=$!
  until_true has_lines 1 journal.jsonl
  sleep 0.2
  kill -"${signals% *}" "$process"
  until_true grep -qxF "$stopping" err
  kill -"${signals#* }" "$process"
  ends_with 1 "$process"
  grep -qE "^duet: stopped; resume with: .*duet gemm .* --json journal.jsonl --resume$" err ||
    fail "the second signal says not how to go on: $(cat err)"
  [[ $(wc -l < err) == 2 ]] || fail "$signals: $(cat err)"
  [[ $(tail -c 1 journal.jsonl) == '' ]] || fail "the journal's last line is not whole"
done
"$duet" "${long[@]}" > out 2> err &
process=$!
until_true catches_interrupts "$process"
sleep 1
kill -INT "$process"
until_true grep -qxF "$stopping" err
kill -INT "$process"
ends_with 1 "$process"
grep -qx 'duet: stopped; with --json FILE it could be resumed' err || fail "no journal: $(cat err)"

# One signal ends every command, also within a call that takes minutes.
one_signal() {
  "$duet" "$@" > out 2> err &
  process=$!
  until_true catches_interrupts "$process"
  sleep 0.5
  kill -INT "$process"
  for _ in $(seq 100); do
    kill -0 "$process" 2> /dev/null || break
    sleep 0.05
  done
  if kill -0 "$process" 2> /dev/null; then
    fail "duet $*: runs 5 s after a signal: $(cat err)"
    kill -KILL "$process"
  fi
  ends_with 1 "$process"
}
one_signal gemm --device host --engine onednn --dtype fp32 --shapes 8192x8192x16384
one_signal copy --device host:2 --sizes 256M --mode sustained
one_signal collective all_reduce --device host:4 -b 256M --mode sustained
one_signal halo --device host:2 --nx 16384 --steps 1000
if [[ -e $(dirname "$duet")/modules/duet_libfabric.so ]]; then
  one_signal fabric write --sizes 64M --mode sustained
fi
one_signal overlap --device host:2 --compute gemm:8192x8192x16384:fp32 --communicate all_gather:1M
one_signal train gpt --device host --model large --layers 6 --batch 2
one_signal train gpt --device host --model large --layers 6 --batch 2 --data "$duet" --steps 10
one_signal run quick
one_signal run seed
one_signal health --device host
grep -q '^duet health: STOPPED' out err || fail "an interrupted check: $(cat out err)"
one_signal reproduce --sensitivity
one_signal advise --device host:2 --measure --iterations 100000

# A run with a checkpoint ends its step and writes it.
"$duet" train gpt --device host --data "$duet" --steps 1000000 --checkpoint model > out 2> err &
process=$!
until_true grep -q '^step 1 of' err
kill -INT "$process"
ends_with 1 "$process"
grep -qx 'duet: stopping after this step and its checkpoint; again to stop now' err || fail "$(cat err)"
[[ -s model ]] || fail "no checkpoint of an interrupted run"

# A pipe that nobody reads: the wait ends at the first signal, and leaves no file behind.
mkfifo pipe
for outputs in '--json pipe' '--json other.jsonl --csv pipe'; do
  # shellcheck disable=SC2086
  "$duet" "${long[@]}" $outputs > out 2> err &
  process=$!
  until_true catches_interrupts "$process"
  sleep 1
  kill -INT "$process"
  ends_with 1 "$process"
  grep -qxF "$stopping" err || fail "$outputs: $(cat err)"
  [[ ! -e other.jsonl ]] || fail "$outputs: left a journal behind"
done
short=(copy --device sim:mi300x-8 --kind local --executor dma --sizes 64K --quiet)
cat pipe > through &
reader=$!
expect_code 0 "${short[@]}" --json pipe
wait "$reader"
[[ $(grep -c '^{"type"' through) == 2 ]] || fail "a pipe that is read: $(cat through)"
refuses 'expected a file' "${short[@]}" --json pipe --resume

# A journal that another run writes is its own.
rm -f journal.jsonl
"$duet" "${long[@]}" --json journal.jsonl > long.out 2> long.err &
process=$!
until_true has_lines 1 journal.jsonl
cp journal.jsonl before.jsonl
refuses "journal.jsonl is in use by process $process" "${long[@]}" --json journal.jsonl --resume
refuses "journal.jsonl is in use by process $process" "${long[@]}" --json journal.jsonl
ln -s journal.jsonl link.jsonl
refuses "link.jsonl is in use by process $process" "${long[@]}" --json link.jsonl --resume
refuses "journal.jsonl is in use by process $process" "${long[@]}" --csv journal.jsonl
cmp journal.jsonl before.jsonl || fail "a refused run changed a journal in use"
kill -KILL "$process"
wait "$process" 2> /dev/null || true
expect_code 0 "${short[@]}" --json whole.jsonl
expect_code 0 "${short[@]}" --json whole.jsonl --resume  # nobody's any more
finish
