#!/usr/bin/env bash
# Programs that do not know the run's secret connect to its port: untrusted.sh TEAM_RANKS DUET.
# Slow connections, silent ones and scanners neither end nor delay a run, and none of them joins it.
set -euo pipefail
ranks=$(realpath "$1") duet=$(realpath "$2")
source "$(dirname "$0")/../ports.sh"
folder=$(mktemp -d)
untrusted=()
pids=()
trap 'kill -9 "${untrusted[@]}" "${pids[@]}" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
failures=0
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT DUET_TOKEN DUET_TOKEN_FILE
export DUET_TUNING=$folder/tuning.json  # not the user's
secret=0123456789abcdef0123456789abcdef

fail() {
  echo "FAIL: $*" >&2
  tail -n +1 err.* >&2 || true
  failures=$((failures + 1))
}

# One connection of each kind, and then the next: as soon as somebody listens, for ever.
drip() {  # a hello of 4096 bytes
  local byte
  for byte in '\0' '\x10' '\0' '\0' '\0' '\0' '\0' '\0'; do printf "$byte" >&3 && sleep 1; done
  while printf A >&3; do sleep 1; done
}
scan() { printf 'GET / HTTP/1.0\r\n\r\n' >&3; }
announce() { printf '\xff\xff\xff\xff\0\0\0\0' >&3; sleep 1; }
silent() {
  local all=() fd
  while ((${#all[@]} < 100)); do exec {fd}<> "/dev/tcp/127.0.0.1/$port" && all+=("$fd"); done
  sleep 20
}
stranger() {  # KIND
  trap '' PIPE
  while :; do
    { exec 3<> "/dev/tcp/127.0.0.1/$port" && "$1"; } 2> /dev/null || true
    sleep 0.1
  done
}

# all_end_with CODE...: the processes of `pids`.
all_end_with() {
  local code pid
  for pid in "${pids[@]}"; do
    code=0
    wait "$pid" || code=$?
    [[ $code == "$1" ]] || fail "a process ended with $code, expected $1"
    shift
  done
}

# process INDEX PROGRAM ARGUMENT...: of two, in the background.
process() {
  local index=$1
  shift
  MASTER_PORT=$port RANK=$index WORLD_SIZE=2 timeout 40 "$@" > "out.$index" 2> "err.$index" &
  pids[index]=$!
}

export MASTER_ADDR=127.0.0.1
for kind in drip scan announce silent; do
  stranger $kind > /dev/null 2>&1 & untrusted+=($!)
done
begin=$SECONDS
run=(collective all_gather,all_reduce --device host --engine dma -b 64K --iterations 3 --warm-up 0)
process 0 "$duet" "${run[@]}"
sleep 2  # they are there before process 1
process 1 "$duet" "${run[@]}"
all_end_with 0 0
((SECONDS - begin <= 20)) || fail "untrusted delayed a run: $((SECONDS - begin)) s"
kill -9 "${untrusted[@]}"
untrusted=()

# Another secret is refused, in one line; the run goes on without it.
new_run() {
  port=$((port + 1))
  pids=()
  rm -f err.* out.*
}
new_run
DUET_TOKEN=$secret process 0 "$ranks" barriers
code=0
for other in "" "$secret$secret"; do
  code=0
  MASTER_PORT=$port RANK=1 WORLD_SIZE=2 DUET_TOKEN=$other "$ranks" barriers 2> err.other || code=$?
  [[ $code == 2 && $(wc -l < err.other) == 1 ]] || fail "another secret: exit $code"
  grep -q "expected this run's secret" err.other || fail "another secret"
done
printf '%s\n' "$secret" > token
chmod 600 token
DUET_TOKEN_FILE=$folder/token process 1 "$ranks" barriers
all_end_with 0 0

refuses() {  # TEXT VARIABLE=VALUE...
  local text=$1 code=0
  shift
  env RANK=0 WORLD_SIZE=2 "$@" "$ranks" barriers 2> err.0 || code=$?
  [[ $code == 2 && $(wc -l < err.0) == 1 ]] || fail "$*: exit $code"
  grep -q -- "$text" err.0 || fail "$*: expected '$text'"
}
refuses "expected DUET_TOKEN or DUET_TOKEN_FILE" MASTER_ADDR=192.0.2.1
refuses "expected 16 to 4096 characters" DUET_TOKEN=secret
chmod 640 token
refuses "this user alone can read" DUET_TOKEN_FILE="$folder/token"

# The address given is the one that listens.
new_run
MASTER_ADDR=127.0.0.2 process 0 "$ranks" barriers
for ((i = 0; i < 100; ++i)); do
  (exec 3<> "/dev/tcp/127.0.0.2/$port") 2> /dev/null && break
  sleep 0.1
done
! (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null || fail "it listens at another address"
MASTER_ADDR=127.0.0.2 process 1 "$ranks" barriers
all_end_with 0 0

for address in $(hostname -I 2> /dev/null | awk '{ print $1 }'); do
  new_run
  MASTER_ADDR=$address DUET_TOKEN=$secret process 0 "$ranks" barriers
  MASTER_ADDR=$address DUET_TOKEN=$secret process 1 "$ranks" barriers
  all_end_with 0 0
done
exit $((failures > 0))
