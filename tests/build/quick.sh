#!/usr/bin/env bash
# What `make run` builds and measures, and in which order, without and with a GPU: quick.sh SOURCE.
script=$(realpath "$1")/scripts/quick.sh
source "$(dirname "$0")/../scratch.sh"
mkdir tools build devices

# Tools that write what they are called for; a build has two steps.
printf '#!/bin/sh\necho "cmake $*" >> calls\n' > tools/cmake
printf '#!/bin/sh\necho "[1/2] Building one"; echo "[2/2] Building another"\n' > tools/ninja
printf '#!/bin/sh\necho "duet $*" | sed "s/quick-[-0-9]*/JOURNAL/" >> calls\n' > build/duet
chmod +x tools/* build/duet

# calls_are EXPECTED: of a run of the script.
calls_are() {
  rm -f calls
  PATH="$folder/tools:$PATH" DUET_DEVICE_FILES=devices "$script" build results > out 2>&1 || fail "exit $?"
  [[ $(cat calls) == "$1" ]] || fail "expected"$'\n'"$1"$'\n\ncalled\n'"$(cat calls)"
}

cpu='cmake --build build --target program_on_cpu
duet run quick --json results/JOURNAL.jsonl'
calls_are "$cpu"
says out '^Building what measures CPUs and simulated machines: 2 steps, about [0-9]+ min on these [0-9]+ cores$'

gpu='cmake --build build --target program
duet run quick --json results/JOURNAL.jsonl --resume'
touch devices/nvidiactl  # the driver's, without a GPU
calls_are "$cpu"
touch devices/nvidia0
calls_are "$cpu"$'\n'"$gpu"
rm devices/nvidia*
touch devices/kfd
calls_are "$cpu"$'\n'"$gpu"

mkdir -p build/src/report
touch build/src/report/page.html
calls_are "$(printf '%s\n%s' "$cpu" "$gpu" | sed '/^duet/s/$/ --report/')"
finish
