#!/usr/bin/env bash
# What `make run` builds and measures, and in which order, without and with a GPU: quick.sh SOURCE.
set -euo pipefail
script=$(realpath "$1")/scripts/quick.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0
mkdir tools build devices

# Tools that write what they are called for; a build has two steps.
printf '#!/bin/sh\necho "cmake $*" >> calls\n' > tools/cmake
printf '#!/bin/sh\necho "[1/2] Building one"; echo "[2/2] Building another"\n' > tools/ninja
printf '#!/bin/sh\necho "duet $*" | sed "s/quick-[-0-9]*/JOURNAL/" >> calls\n' > build/duet
chmod +x tools/* build/duet

# calls_are EXPECTED: of a run of the script.
calls_are() {
  rm -f calls
  PATH="$folder/tools:$PATH" DUET_DEVICE_FILES=devices "$script" build results > out 2>&1 || {
    echo "FAIL: exit $?" >&2
    cat out >&2
    exit 1
  }
  [[ $(cat calls) == "$1" ]] || {
    printf 'FAIL: expected\n%s\n\ncalled\n%s\n' "$1" "$(cat calls)" >&2
    failures=$((failures + 1))
  }
}

cpu='cmake --build build --target program_on_cpu
duet run quick --json results/JOURNAL.jsonl'
calls_are "$cpu"
grep -qE '^Building what measures CPUs and simulated machines: 2 steps, about [0-9]+ min on these [0-9]+ cores$' out || {
  echo "FAIL: it does not say what it builds and how long that takes: $(cat out)" >&2
  failures=$((failures + 1))
}

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
exit $((failures > 0))
