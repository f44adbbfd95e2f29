#!/usr/bin/env bash
# Programs that do not know the run's secret connect to its port: untrusted.sh TEAM_RANKS DUET.
# Slow connections, silent ones and scanners neither end nor delay a run, and none of them joins it.
ranks=$(realpath "$1") duet=$(realpath "$2")
source "$(dirname "$0")/../scratch.sh"
source "$here/ends.sh"
untrusted=()
trap 'kill -9 "${untrusted[@]}" "${pids[@]}" 2> /dev/null || true; rm -rf "$folder"' EXIT
unset DUET_TOKEN DUET_TOKEN_FILE
secret=0123456789abcdef0123456789abcdef

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

process() { one_of 2 "$1" timeout 40 "${@:2}"; }  # INDEX PROGRAM ARGUMENT...: of two

for kind in drip scan announce silent; do
  stranger $kind > /dev/null 2>&1 & untrusted+=($!)
done
begin=$SECONDS
run=(collective all_gather,all_reduce --device host --engine dma -b 64K --iterations 3 --warm-up 0)
process 0 "$duet" "${run[@]}"
sleep 2  # they are there before process 1
process 1 "$duet" "${run[@]}"
all_end_with 0
((SECONDS - begin <= 20)) || fail "untrusted delayed a run: $((SECONDS - begin)) s"
kill -9 "${untrusted[@]}"
untrusted=()

# Another secret is refused, in one line; the run goes on without it.
new_run
DUET_TOKEN=$secret process 0 "$ranks" barriers
for other in "" "$secret$secret"; do
  refuses "expected this run's secret" MASTER_ADDR=127.0.0.1 MASTER_PORT=$port RANK=1 WORLD_SIZE=2 DUET_TOKEN=$other \
    "$ranks" barriers
done
printf '%s\n' "$secret" > token
chmod 600 token
DUET_TOKEN_FILE=$folder/token process 1 "$ranks" barriers
all_end_with 0

unaccepted() { refuses "$1" RANK=0 WORLD_SIZE=2 MASTER_PORT=$port MASTER_ADDR=127.0.0.1 "${@:2}" "$ranks" barriers; }
unaccepted "expected DUET_TOKEN or DUET_TOKEN_FILE" MASTER_ADDR=192.0.2.1
unaccepted "expected 16 to 4096 characters" DUET_TOKEN=secret
chmod 640 token
unaccepted "this user alone can read" DUET_TOKEN_FILE="$folder/token"

# The address given is the one that listens.
new_run
address=127.0.0.2 process 0 "$ranks" barriers
for ((i = 0; i < 100; ++i)); do
  (exec 3<> "/dev/tcp/127.0.0.2/$port") 2> /dev/null && break
  sleep 0.1
done
! (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null || fail "it listens at another address"
address=127.0.0.2 process 1 "$ranks" barriers
all_end_with 0

for address in $(hostname -I 2> /dev/null | awk '{ print $1 }'); do
  new_run
  DUET_TOKEN=$secret process 0 "$ranks" barriers
  DUET_TOKEN=$secret process 1 "$ranks" barriers
  all_end_with 0
done
finish
