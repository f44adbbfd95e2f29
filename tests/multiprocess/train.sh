#!/usr/bin/env bash
# Runs `duet train --parallel` as several processes: train.sh DUET. What they leave is what one process
# leaves, to the bit; a signal to one ends all with a checkpoint, and the end of one is noticed.
duet=$(realpath "$1")
source "$(dirname "$0")/../scratch.sh"
source "$here/ends.sh"

cat > own.toml << 'END'
[[model]]
name = "own"
layers = 2
heads = 2
width = 32
ffn_width = 48
vocabulary = 300
batch = 2
sequence = 16
END
for i in $(seq 300); do echo "line $i of a text"; done > text
run=(train gpt --model own.toml --data text)

trains() { exec timeout 100 "$duet" "${run[@]}" "$@"; }

until_checkpoint() {  # FILE
  for _ in $(seq 600); do
    [[ -s $1 ]] && return
    sleep 0.05
  done
  fail "no checkpoint"
}

in_one_process() { "$duet" "${run[@]}" "$@" > out.one 2> err.one; }

# Processes that do not reach the same files, which would train different models.
mkdir one_has other_has_not
run=(train gpt --model "$folder/own.toml" --parallel ddp --warm-up-steps 2)
in_one_process --device host:2 --data text --steps 20 --checkpoint one_has/checkpoint || fail "$(cat err.one)"
cp one_has/checkpoint first
in_folders() {  # ARGUMENT...
  local folders=(one_has other_has_not)
  cd "${folders[RANK]}" && trains "$@"
}
start 2 in_folders --data "$folder/text" --steps 30 --checkpoint checkpoint --checkpoint-every 2 --resume
all_end_with 2
says err.0 "^duet: rank 1 .*: steps done: '0' here, '20' on rank 0: expected all ranks to have the same" "another checkpoint"
cmp first one_has/checkpoint || fail "the checkpoint has changed"
cp text one_has/text; head -n 200 text > other_has_not/text
start 2 in_folders --data text --steps 30
all_end_with 2
says err.0 "number of tokens: '.*' here, '.*' on rank 0" "other data"
sed s/text/exit/ text > other_has_not/text
start 2 in_folders --data text --steps 30
all_end_with 2
says err.0 "tokens' digest: '.*' here" "other data of the same length"

# Ranks that divide each product, of one batch.
run=(train gpt --model own.toml --data text --parallel tp)
start 2 trains --steps 20 --checkpoint two
all_end_with 0
in_one_process --device host:2 --steps 20 --checkpoint one || fail "one process: $(cat err.one)"
cmp one two || fail "two processes that divide products train another model than one"

for way in ddp zero3; do
  run=(train gpt --model own.toml --data text --parallel $way)
  rm -f one two parts alone
  steps=3000
  start 2 trains --steps $steps --checkpoint two
  all_end_with 0
  in_one_process --device host:2 --steps $steps --checkpoint one || fail "one process: $(cat err.one)"
  cmp one two || fail "two processes train another model than one"
  [[ ! -s out.1 ]] || fail "process 1 writes"

  # A signal to process 1.
  start 2 trains --steps $steps --checkpoint parts --checkpoint-every 100
  until_checkpoint parts
  kill -INT "$(pgrep -P "${pids[1]}")"
  all_end_with 1
  cmp -s one parts && fail "the run was not interrupted"
  start 2 trains --steps $steps --checkpoint parts --checkpoint-every 100 --resume
  all_end_with 0
  cmp one parts || fail "the resumed run has other bits"

  # The end of process 1. The run goes on from its checkpoint on one device with the whole batch.
  rm parts
  start 2 trains --steps 1000000 --checkpoint parts --checkpoint-every 100
  until_checkpoint parts
  kill -KILL "$(pgrep -P "${pids[1]}")"
  begin=$SECONDS
  code=0
  wait "${pids[0]}" || code=$?
  [[ $code == 1 ]] || fail "process 0 after the end of process 1: exit $code"
  ((SECONDS - begin <= 10)) || fail "process 0 took $((SECONDS - begin)) s to notice"
  says err.0 'rank 1 \(pid [0-9]* on .*\) is gone' "process 0 does not name rank 1"
  in_one_process --device host:2 --steps 1000001 --checkpoint parts --resume --batch 3 && fail "another batch"
  says err.one "its batch is '4': expected 6" "another batch"
  run=(train gpt --model own.toml --data text --batch 4)
  cp parts alone
  in_one_process --steps 1000000 --checkpoint alone --resume & pid=$!
  pids+=($pid)
  for _ in $(seq 200); do
    grep -q '^step' err.one 2> /dev/null && break
    sleep 0.05
  done
  says err.one '^step [0-9]*01 of' "does not go on behind the checkpoint"
  kill "$(pgrep -P "$pid")" 2> /dev/null || kill "$pid"
  wait "$pid" || true
done
finish
