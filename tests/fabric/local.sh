#!/usr/bin/env bash
# `duet fabric` with both ends on this machine, over shared memory and the loopback: local.sh PROGRAM.
# Figures are not looked at: what is checked is that all of it runs, is right, and is written down.
duet=$(realpath "$1")
modules=$(dirname "$duet")/modules
source "$(dirname "$0")/../scratch.sh"
if [[ ! -e $modules/duet_libfabric.so ]]; then
  echo "skipped: needs the libfabric module"
  exit 77
fi

# measured CASES ARGUMENT...: all of them, verified, in a journal.
measured() {
  local cases=$1
  shift
  rm -f journal.jsonl
  timeout 100 "$duet" fabric --json journal.jsonl --iterations 3 --warm-up 0 "$@" > out 2> err ||
    fail "$*: exit $?"
  [[ $(grep -c '"outcome":"measured"' journal.jsonl) == "$cases" ]] || fail "$*: not $cases cases"
  [[ $(grep -c '"verified":true' journal.jsonl) == "$cases" ]] || fail "$*: not verified"
}

# Every operation; sizes that are no multiple of anything; pieces of a byte, and messages in one.
for provider in shm tcp; do
  measured 10 --provider $provider --sizes 64,100K --window 1 --messages 3
  measured 6 write,write_imm,read --provider $provider --sizes 999 --window 1,5 --messages 7 --chunk 10
  measured 3 write,write_imm,read --provider $provider --sizes 3M --window 2 --chunk 0 \
    --direction two-way
  measured 5 write --provider $provider --sizes 5000 --window 3 --messages 40 \
    --issue direct,blocking,nonblocking --producers 1,3
done
measured 2 write,send_recv --provider shm --sizes 5000 --window 3 --messages 40 --places 1
grep -q '"places":1' journal.jsonl || fail "no places"
measured 3 write --provider tcp --sizes 5000 --window 3 --messages 40 \
  --issue direct,blocking,nonblocking --producers 1
grep -q '"latency_p99_us"' journal.jsonl || fail "no latencies"
grep -q '"completion_us"' journal.jsonl || fail "no times of the proxy"
grep -q '"provider":"tcp;ofi_rxm"' journal.jsonl || fail "no provider"
grep -q '"processes":2' journal.jsonl || fail "no processes"
grep -q "\"hosts\":\[\"$(hostname)\",\"$(hostname)\"\]" journal.jsonl || fail "no hosts of the processes"

# What killed processes leave of shared memory is in nobody's way, and goes.
"$duet" fabric write --provider shm --sizes 1M --seconds 30 --quiet &> killed &
run=$!
# Those of its processes alone: other tests run beside this one.
files_of() {
  local pid
  for pid; do compgen -G "/dev/shm/duet-*-$pid-*" || true; done
}
for ((try = 0; try < 100; ++try)); do
  mapfile -t pids_of_run < <(echo "$run" && pgrep -P "$run")
  [[ -n $(files_of "${pids_of_run[@]}") ]] && break
  sleep 0.1
done
[[ -n $(files_of "${pids_of_run[@]}") ]] || fail "shm: no file of shared memory"
kill -KILL "${pids_of_run[@]}" || true
wait "$run" 2> /dev/null || true
for ((try = 0; try < 100; ++try)); do
  kill -0 "${pids_of_run[@]}" 2> /dev/null || break  # none is there, not even unreaped
  sleep 0.1
done
measured 1 write --provider shm --sizes 1M --window 1
[[ -z $(files_of "${pids_of_run[@]}") ]] || fail "shm: left: $(files_of "${pids_of_run[@]}")"

# More pieces than a rail has under way.
measured 2 send_recv,write --provider tcp --sizes 1M --chunk 1K --window 1

# Several rails over one interface's addresses are several rails.
if [[ $("$duet" info | grep -c 'tcp;ofi_rxm') -ge 2 ]]; then
  measured 6 write --rails 2 --sizes 1M --window 1,4 --messages 4 --verbose
  [[ $(grep -c '"benchmark":"fabric_recommendation"' journal.jsonl) == 2 ]] || fail "recommendation"
  grep -A1 fabric_recommendation out | grep -qE '^ *window +mode +times as fast$' || fail "no mode is recommended"
fi

# More processes, each to every other.
measured 2 all_to_all --provider shm --nodes 4 --sizes 999,100K
measured 1 all_to_all --provider tcp --nodes 3 --sizes 64K --chunk 1000
grep -q '"nodes":3' journal.jsonl || fail "nodes"

measured 2 write --provider shm --sizes 64K --window 1 --fifo
grep -q '"million_per_s"' journal.jsonl || fail "no fifo"

measured 6 write,read --provider shm --memory host,pinned,device --sizes 64K --window 1
[[ $(grep -c '"memory":"device"' journal.jsonl) == 2 ]] || fail "device memory"

# Messages in GPUs' memory by the indirect paths.
for path in ipc staged; do
  for provider in shm tcp; do
    measured 10 all --provider $provider --memory device --memory-path $path --sizes 4K,300K \
      --window 3 --messages 9 --chunk 100K --direction one-way
    [[ $(grep -c "\"memory_path\":\"$path\"" journal.jsonl) == 10 ]] || fail "path $path"
  done
  measured 4 write_imm,read --provider shm --memory device --memory-path $path --sizes 64K \
    --window 1,4 --direction two-way
  measured 1 all_to_all --provider shm --nodes 3 --memory device --memory-path $path --sizes 64K
  measured 4 write --provider shm --memory host,device --memory-path $path --sizes 64K --window 2 \
    --issue direct,nonblocking --producers 1
done

# A link whose speed is known.
measured 1 write --provider shm --sizes 64K --window 1 --link-gbit 100 --verbose
grep -q '"percent_of_link"' journal.jsonl || fail "no percent of the link"
grep -qE '[0-9]+% of link, p50 .*s, p95 .*s, p99 .*s' out || fail "no latencies in the table"

# Resuming measures what is missing only.
measured 2 write --provider shm --sizes 64K,128K --window 1
last=$(grep -n '"type":"result"' journal.jsonl | tail -1 | cut -d: -f1)
sed -i "$last,\$d" journal.jsonl
"$duet" fabric write --provider shm --sizes 64K,128K --window 1 --iterations 3 --warm-up 0 \
  --json journal.jsonl --resume > out 2> err || fail "resume: exit $?"
grep -q "2 cases: 2 measured (1 by the earlier run)" out || fail "resume"

# Too much memory is a reason, and the run goes on.
"$duet" fabric write --provider shm --sizes 64K,4G --window 1 --iterations 3 > out 2> err ||
  fail "memory limit: exit $?"
grep -q "skipped: .*--memory-limit" out || fail "memory limit"

# Messages share what memory there is.
measured 1 write --provider shm --sizes 1M --window 8 --messages 8 --memory-limit 3M
grep -q '"places":3' journal.jsonl || fail "places by the memory limit"

# refused TEXT ARGUMENT...: one line, at once.
refused() {
  local text=$1 code=0
  shift
  timeout 10 "$duet" fabric "$@" > out 2> err || code=$?
  [[ $code == 2 && $(wc -l < err) == 1 ]] && grep -q -- "$text" err || fail "$*: exit $code, expected '$text'"
}
refused "--nodes 100000: .* from 2 to 256" all_to_all --nodes 100000
refused "--window 2000000000: .* from 1 to" write --window 2000000000 --sizes 1
refused "--messages 2147483647: .* from 1 to" write --messages 2147483647 --sizes 1
refused "a proxy (--issue) posts write" read --issue blocking
refused "send_recv goes both ways" send_recv --direction two-way
refused "--issue: expected without all_to_all" all_to_all --issue blocking
refused "--window: expected without all_to_all" all_to_all --window 4

# What one end asks for, both must.
export MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" WORLD_SIZE=2
RANK=1 timeout 20 "$duet" fabric write --provider shm --sizes 64K --window 1 > out.1 2> err.1 &
code=0
RANK=0 timeout 20 "$duet" fabric write --provider shm --sizes 128K --window 1 > out 2> err || code=$?
wait $! || true
[[ $code == 2 ]] && grep -q "different cases next" err || fail "different sizes: exit $code"
unset MASTER_ADDR MASTER_PORT WORLD_SIZE

code=0
RANK=0 WORLD_SIZE=1 "$duet" fabric > out 2> err || code=$?
[[ $code == 2 ]] && grep -q "between two processes or more" err || fail "one process: exit $code"

if command -v mpirun > /dev/null && [[ -e $modules/duet_mpi.so ]]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  timeout 100 mpirun --oversubscribe --bind-to none -n 2 "$duet" fabric write --provider shm \
    --sizes 64K --iterations 3 > out 2> err || fail "mpirun: exit $?"
  grep -q "2 cases: 2 measured" out || fail "mpirun"
fi
finish
