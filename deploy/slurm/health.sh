#!/usr/bin/env bash
# Slurm's HealthCheckProgram: drains this node if `duet health` has found a fault, with its line as
# the reason. Nothing else drains: neither bad usage, nor metrics that cannot be written, nor a duet
# that is missing, crashes or is interrupted; slurmd's log then has what it wrote. A node that is
# drained already keeps its reason, and nothing resumes a node.
#   HealthCheckProgram=/opt/duet/share/duet/slurm/health.sh
# slurmd runs it without arguments and kills it after 60 seconds. $DUET names the program (duet of
# the PATH unless set), $DUET_HEALTH its arguments; both may be set in the file $DUET_HEALTH_FILE
# (/etc/default/duet-health unless set), which bash reads.
set -uo pipefail
file=${DUET_HEALTH_FILE:-/etc/default/duet-health}
[[ ! -r $file ]] || source "$file"
node=${SLURMD_NODENAME:-$(hostname -s)}

read -r -a arguments <<< "${DUET_HEALTH:---no-measurements --seconds 50}"
output=$("${DUET:-duet}" health "${arguments[@]}" 2>&1)
code=$?
[[ $code != 0 ]] || exit 0
line=$(grep -m 1 '^duet health: FAIL ' <<< "$output")
if [[ $code != 1 || -z $line ]]; then
  echo "$node is not judged, duet health ended with $code: $output" >&2
  exit "$code"
fi
state=$(scontrol show node --oneliner "$node" 2> /dev/null | grep -o 'State=[^ ]*')
[[ $state != *DRAIN* ]] || exit "$code"
scontrol update NodeName="$node" State=DRAIN Reason="${line:0:250}"
exit "$code"
