#!/usr/bin/env bash
# What `make run` does: builds what measures CPUs and simulated machines, and measures these; where
# there is a GPU, builds its device then, which takes as long again, and adds its figures to the same
# journal and report: quick.sh BUILD RESULTS.
set -euo pipefail
build=${1:?usage: quick.sh BUILD RESULTS} results=${2:?usage: quick.sh BUILD RESULTS}
devices=${DUET_DEVICE_FILES:-/dev}  # where drivers show GPUs; tests have another folder

# A loop of the shell tells how slow the machine is beside those of docs/results.
usual_ms=550
begin=${EPOCHREALTIME/[.,]/}
for ((i = 0; i < 300000; ++i)); do :; done
ms=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))

# build TARGET MILLISECONDS WHAT: of compiler time that a step takes on a usual machine.
build() {
  local steps
  steps=$(ninja -C "$build" -n "$1" 2> /dev/null | grep -c '^\[.*Building' || true)
  if ((steps > 0)); then
    echo "Building $3: $steps steps, about $((steps * $2 * ms / usual_ms / $(nproc) / 60000 + 1)) min on these $(nproc) cores"
  fi
  NINJA_STATUS="[%f/%t, %e s] " cmake --build "$build" --target "$1"
}

mkdir -p "$results"
journal=$results/quick-$(date -u +%Y%m%d-%H%M%S).jsonl
report=()
build program_on_cpu 6500 "what measures CPUs and simulated machines"
[[ ! -e $build/src/report/page.html ]] || report=(--report)
"$build/duet" run quick --json "$journal" "${report[@]}"

if compgen -G "$devices/nvidia[0-9]*" > /dev/null || [[ -e $devices/kfd ]]; then
  build program 12000 "what measures GPUs"
  "$build/duet" run quick --json "$journal" --resume "${report[@]}"
fi
