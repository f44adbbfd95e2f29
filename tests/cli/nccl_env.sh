#!/usr/bin/env bash
# duet nccl-env: the words to put before a command, by launcher, with the thresholds of a tuning file;
# what is printed starts a program of NCCL's users with the drop-in: nccl_env.sh DUET TESTS
tests=$(realpath "$2")
source "$(dirname "$0")/check.sh"
unset LD_PRELOAD LD_LIBRARY_PATH
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
shim=$(dirname "$duet")/nccl_shim
if [[ ! -e $shim/libduet-nccl.so ]]; then
  refuses "there is no libduet-nccl.so" nccl-env --gpus 2
  finish
  exit 0
fi

entry() { # DEVICE RANKS SEVERAL BESIDE_NCCL [PACKETS [KERNEL]]
  echo "{\"device\":\"$1\",\"ranks\":$2,\"several_processes\":$3,\"dma_from\":{\"gather\":1024},\"dma_from_beside_nccl\":$4,\"packets_beside_nccl\":${5:-{\}},\"kernel_beside_nccl\":${6:-{\}}}"
}
file() { (IFS=, && echo "{\"format\":1,\"entries\":[$*]}"); }
h200='NVIDIA H200'
file "$(entry "$h200" 4 false '{"all_gather":67108864,"all_to_all":null,"gather":4096}')" \
  "$(entry "$h200" 4 true '{"all_gather":33554432,"broadcast":1000,"all_to_all":65536,"all_reduce":4096,"send_recv":1048576}')" \
  "$(entry "$h200" 8 true '{"all_gather":null}')" \
  "$(entry A 2 true '{"all_gather":8192}')" "$(entry B 2 true '{"all_gather":1}')" \
  "{\"device\":\"$h200\",\"ranks\":5,\"several_processes\":true,\"dma_from\":{\"all_gather\":0}}" > "$DUET_TUNING"

# prints LINE ARGUMENT...: that standard output is LINE without packets, and standard error is empty.
prints() {
  expect_code 0 nccl-env --no-packets --model "$h200" --gpus 4 "${@:2}"
  [[ $(cat out) == "$1" ]] || fail "duet nccl-env ${*:2}: expected $1, got $(cat out)"
  [[ ! -s err ]] || fail "duet nccl-env ${*:2}: $(cat err)"
}
preload=LD_PRELOAD=$shim/libduet-nccl.so
ranks=DUET_NCCL_RANKS=4 gather=DUET_NCCL_MIN_ALL_GATHER=64M broadcast=DUET_NCCL_MIN_BROADCAST=1000 reduce=DUET_NCCL_MIN_ALL_REDUCE=4K
message=DUET_NCCL_MIN_SEND_RECV=1M
prints "env $preload $ranks $gather $broadcast $reduce $message"
prints "env $preload $ranks $gather $broadcast $reduce $message" --for torchrun
prints "srun --export=ALL,$preload,$ranks,$gather,$broadcast,$reduce,$message" --for srun
prints "mpirun -x $preload -x $ranks -x $gather -x $broadcast -x $reduce -x $message" --for mpirun
prints "docker run -v $shim/libduet-nccl.so:$shim/libduet-nccl.so:ro -e $preload -e $ranks -e $gather -e $broadcast -e $reduce -e $message" --for docker
prints "- -x
- $preload
- -x
- $ranks
- -x
- $gather
- -x
- $broadcast
- -x
- $reduce
- -x
- $message" --for mpijob
LD_PRELOAD=libm.so.6 prints "env $preload:libm.so.6 $ranks $gather $broadcast $reduce $message"
LD_PRELOAD=libm.so.6 prints "docker run -v $shim/libduet-nccl.so:$shim/libduet-nccl.so:ro -e $preload -e $ranks -e $gather -e $broadcast -e $reduce -e $message" --for docker

real=$tests/fake_nccl/libnccl.so.2
folder_line=LD_LIBRARY_PATH=$shim/replacement
prints "env $folder_line DUET_NCCL=$real $ranks $gather $broadcast $reduce $message" --replace "$real"
LD_LIBRARY_PATH=/a:/b prints "env $folder_line:/a:/b DUET_NCCL=$real $ranks $gather $broadcast $reduce $message" --replace "$real"
prints "docker run -v $shim/replacement:$shim/replacement:ro -e $folder_line -e DUET_NCCL=/there/libnccl.so.2 -e $ranks -e $gather -e $broadcast -e $reduce -e $message" \
  --for docker --replace /there/libnccl.so.2

# Packets up to the smallest size of all four collectives, of one process and of several; else none, and why.
four() { echo "{\"all_gather\":$1,\"all_to_all\":$2,\"reduce_scatter\":$3,\"all_reduce\":$4}"; }
# packets EXPECTED NOTE ENTRY...
packets() {
  file "${@:3}" > packets.json
  expect_code 0 nccl-env --gpus 4 --model "$h200" --tuning packets.json
  [[ $(cat out) == "env $preload ${1:+$ranks }${1:-DUET_NCCL_MODE=off}" ]] || fail "packets: expected $1, got $(cat out)"
  [[ -n $2 || ! -s err ]] || fail "packets: $(cat err)"
  grep -q "$2" err || [[ -z $2 ]] || fail "packets: expected $2, got $(cat err)"
}
packets DUET_NCCL_PACKETS=256K "" "$(entry "$h200" 4 true {} "$(four 1048576 262144 1048576 524288)")"
packets DUET_NCCL_PACKETS=128K "" "$(entry "$h200" 4 true {} "$(four 1048576 262144 1048576 524288)")" "$(entry "$h200" 4 false {} "$(four 131072 262144 1048576 524288)")"
packets DUET_NCCL_PACKETS=1M "" "$(entry "$h200" 4 true {} "$(four 2097152 2097152 2097152 2097152)")" # the most there is
packets DUET_NCCL_PACKETS=1536 "" "$(entry "$h200" 4 true {} "$(four 1600 4096 4096 4096)")" # in multiples of 128 B
packets "DUET_NCCL_PACKETS=64K DUET_NCCL_MIN_BROADCAST=1M" "" "$(entry "$h200" 4 true '{"broadcast":1048576}' "$(four 65536 65536 65536 65536)")"
packets "" "NCCL, which is the faster one" "$(entry "$h200" 4 true {} "$(four 1048576 0 1048576 524288)")"
packets DUET_NCCL_MIN_BROADCAST=1M "no packets: NCCL is faster" "$(entry "$h200" 4 true '{"broadcast":1048576}' "$(four 100 4096 4096 4096)")"
packets DUET_NCCL_MIN_BROADCAST=1M "no packets: .*no figures of small calls of all_gather for 4 x $h200 in one process; .*--tune" \
  "$(entry "$h200" 4 true {} "$(four 65536 65536 65536 65536)")" "$(entry "$h200" 4 false '{"broadcast":1048576}')"
file "$(entry "$h200" 4 true '{"broadcast":1048576}' "$(four 1048576 262144 1048576 524288)")" > packets.json
expect_code 0 nccl-env --gpus 4 --model "$h200" --tuning packets.json --no-packets
[[ $(cat out) == "env $preload $ranks DUET_NCCL_MIN_BROADCAST=1M" ]] || fail "packets that are not wanted: $(cat out)"

# The kernel, from packets on.
kernel='{"all_gather":{"above":65536,"to":4194304},"all_reduce":{"above":262144,"to":1048576},"broadcast":{"above":0,"to":8388608}}'
file "$(entry "$h200" 4 true '{"all_gather":16777216}' "$(four 65536 65536 65536 65536)" "$kernel")" > kernel.json
expect_code 0 nccl-env --gpus 4 --model "$h200" --tuning kernel.json
[[ $(cat out) == "env $preload $ranks DUET_NCCL_PACKETS=64K DUET_NCCL_KERNEL_ALL_GATHER=4M DUET_NCCL_KERNEL_BROADCAST=8M DUET_NCCL_MIN_ALL_GATHER=16M" ]] ||
  fail "the kernel: $(cat out)"
expect_code 0 nccl-env --gpus 4 --model "$h200" --tuning kernel.json --no-packets --json
grep -A2 '"kernel"' out | tr -d ' \n' | grep -qx '"kernel":{"broadcast":8388608},' || fail "the kernel without packets: $(cat out)"

# The same as a row to be shipped.
expect_code 0 nccl-env --gpus 4 --tuning kernel.json --row 'a.jsonl, b.jsonl'
[[ $(sed -n '1,3p;/^gather/p;/^models/p;/^packets_to/p;/kernel_to/,$p' out) == "[[row]]
ranks = 4
source = \"a.jsonl, b.jsonl\"
gather = \"1K\"
models = [\"$h200\"]
packets_to = \"64K\"
[row.beside_nccl.kernel_to]
all_gather = \"4M\"
all_to_all = \"never\"
broadcast = \"8M\"
reduce_scatter = \"never\"
all_reduce = \"never\"" ]] || fail "a row: $(cat out)"
grep -qx 'scatter = "72M"  # not measured: as built in' out || fail "a row: $(cat out)"
refuses "--row: expected figures beside NCCL of 3 GPUs" nccl-env --gpus 3 --tuning kernel.json --row a.jsonl
refuses "without quotes" nccl-env --gpus 4 --tuning kernel.json --row 'a"'

# No threshold: one line says why, and what to run. What was measured beside another engine is none.
for gpus in 3 5; do
  expect_code 0 nccl-env --gpus $gpus --model "$h200"
  [[ $(cat out) == "env $preload" ]] || fail "thresholds of others: $(cat out)"
  [[ $(wc -l < err) == 1 ]] || fail "expected one line: $(cat err)"
  grep -q "no threshold is set, so every call is forwarded to NCCL: .*no figures of NCCL for $gpus x $h200, and Duet ships none; .*duet collective .* --tune" err ||
    fail "what to run: $(cat err)"
done
expect_code 0 nccl-env --gpus 8
grep -q "no threshold is set, .*NCCL, which is the faster one on 8 x $h200" err || fail "NCCL is faster: $(cat err)"
[[ $(cat out) == "env $preload DUET_NCCL_MODE=off" ]] || fail "the drop-in would go by what it ships: $(cat out)"
DUET_TUNING=$folder/none.json expect_code 0 nccl-env --gpus 8 --model "$h200"
grep -q 'no threshold is set' err || fail "without a file: $(cat err)"

# Without a measurement those that are shipped, as the drop-in has them itself.
DUET_TUNING=$folder/none.json expect_code 0 nccl-env --gpus 2 --model "$h200"
[[ $(cat out) == "env $preload DUET_NCCL_RANKS=2 DUET_NCCL_PACKETS=256K DUET_NCCL_MIN_ALL_GATHER=16M DUET_NCCL_MIN_ALL_TO_ALL=16M DUET_NCCL_MIN_BROADCAST=64M DUET_NCCL_MIN_REDUCE_SCATTER=256M DUET_NCCL_MIN_ALL_REDUCE=256M DUET_NCCL_MIN_SEND_RECV=16M" ]] ||
  fail "thresholds that are shipped: $(cat out)"
[[ ! -s err ]] || fail "thresholds that are shipped: $(cat err)"

expect_code 0 nccl-env --gpus 4 --model "$h200" --no-packets --json
[[ ! -s err ]] || fail "--json: $(cat err)"
python3 - "$preload" out <<'end' || fail "--json: $(cat out)"
import json, sys
told = json.load(open(sys.argv[2]))
assert told["variables"]["LD_PRELOAD"] == sys.argv[1].split("=")[1]
assert told["thresholds"] == {"all_gather": 67108864, "broadcast": 1000, "all_reduce": 4096, "send_recv": 1048576}, told
assert told["packets"] == 0, told
assert told["lines"] == ["env " + " ".join(f"{k}={v}" for k, v in told["variables"].items())]
assert (told["gpus"], told["model"], told["note"], told["for"]) == (4, "NVIDIA H200", "", "shell")
assert told["source"] == "tuning file", told
end

refuses "unknown 'slurm': expected one of shell, torchrun, srun, mpirun, docker, mpijob" nccl-env --for slurm --gpus 2
refuses "(did you mean 'mpirun'?)" nccl-env --for mpirum --gpus 2
refuses "--model: expected one of A, B" nccl-env --gpus 2 --tuning "$DUET_TUNING"
refuses "--gpus" nccl-env --gpus 9
refuses "--gpus" nccl-env --gpus 1
refuses "expected an absolute path" nccl-env --gpus 2 --replace libnccl.so.2
refuses "there is no such file" nccl-env --gpus 2 --replace /nowhere/libnccl.so.2
refuses "there is no such file" nccl-env --gpus 2 --tuning nowhere.json
refuses "expected letters, digits" nccl-env --gpus 2 --for docker --replace "/a b/libnccl.so.2"
LD_LIBRARY_PATH="/a b" refuses "LD_LIBRARY_PATH /a b: expected letters" nccl-env --gpus 4 --replace "$real"
echo '{' > damaged.json
refuses "expected JSON" nccl-env --gpus 2 --tuning damaged.json
"$duet" info | grep -q '^ *cuda .*available' || refuses "expected --gpus COUNT" nccl-env

# The words work: before a program that is linked with a small NCCL.
export LD_LIBRARY_PATH=$tests:$tests/fake_nccl
expect_code 0 nccl-env --gpus 4 --model "$h200"
$(cat out) "$tests/nccl_user" forwarding > user.out 2>&1 || fail "before a program: exit $?: $(cat user.out)"
grep -q "ncclReduce: $shim/libduet-nccl.so" user.out || fail "the library is not before NCCL: $(cat user.out)"
LD_LIBRARY_PATH=$tests expect_code 0 nccl-env --gpus 4 --model "$h200" --replace "$real"
$(cat out) "$tests/nccl_user" forwarding > user.out 2>&1 || fail "in NCCL's place: exit $?: $(cat user.out)"
grep -q "ncclGetVersion: $shim/replacement/libnccl.so.2" user.out || fail "not in NCCL's place: $(cat user.out)"
# The same words, with the drop-in for ranks on CPUs: it takes over what is not below the threshold.
file "$(entry A 2 true '{"all_gather":8192}')" > "$DUET_TUNING"
expect_code 0 nccl-env --gpus 2
words=$(sed "s,$shim/libduet-nccl.so,$tests/nccl_shim_host/libduet-nccl.so," out)
DUET_NCCL_LOG=info timeout 120 $words "$tests/nccl_ranks" 2 calls > user.out 2>&1 || fail "ranks: exit $?: $(cat user.out)"
grep -q 'all_gather from 8192 B by copy engines; the rest is forwarded' user.out || fail "thresholds: $(cat user.out)"
finish
