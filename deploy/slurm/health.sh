#!/usr/bin/env bash
# Slurm's HealthCheckProgram: drains this node, with the line of `duet health` as the reason, if
# something is wrong. A node that is drained already keeps its reason, and nothing resumes a node.
#   HealthCheckProgram=/opt/duet/share/duet/slurm/health.sh
# slurmd runs it without arguments and kills it after 60 seconds. $DUET names the program (duet of
# the PATH unless set), $DUET_HEALTH its arguments; both may be set in the file $DUET_HEALTH_FILE
# (/etc/default/duet-health unless set), which bash reads.
set -uo pipefail
file=${DUET_HEALTH_FILE:-/etc/default/duet-health}
[[ ! -r $file ]] || source "$file"
node=${SLURMD_NODENAME:-$(hostname -s)}

read -r -a arguments <<< "${DUET_HEALTH:---no-measurements --seconds 50}"
line=$("${DUET:-duet}" health "${arguments[@]}" 2>&1)
code=$?
[[ $code != 0 ]] || exit 0
state=$(scontrol show node --oneliner "$node" 2> /dev/null | grep -o 'State=[^ ]*')
[[ $state != *DRAIN* ]] || exit "$code"
scontrol update NodeName="$node" State=DRAIN Reason="${line:0:250}"
exit "$code"
