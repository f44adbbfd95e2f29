#!/usr/bin/env bash
# ctest over a build folder, and behind its own summary a line for each test that was skipped, with
# its reason: run_tests.sh BUILD [ctest's arguments]. Ends with ctest's exit code.
#
# A test that takes longer than the limit has failed: 600 s, more on machines that are slower than
# those of docs/results, or busy: a loop of the shell is timed. Tests have no limits of their own.
set -uo pipefail
build=${1:?usage: run_tests.sh BUILD [ctest arguments]}
shift
results=$(mktemp)
trap 'rm -f "$results"' EXIT

usual_ms=550 limit=600
begin=${EPOCHREALTIME/[.,]/}
for ((i = 0; i < 300000; ++i)); do :; done
ms=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
((ms <= usual_ms)) || limit=$((limit * ms / usual_ms))
limit=$((limit * ${SLOWER:-1}))  # sanitizers slow the program, not this shell

# Tests run side by side: OpenMP's threads that spin while they wait take CPU time from other tests.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

ctest --test-dir "$build" --timeout "$limit" --output-on-failure --output-junit "$results" "$@"
code=$?

"$(dirname "$0")/skipped_tests.py" "$results"
exit $code
