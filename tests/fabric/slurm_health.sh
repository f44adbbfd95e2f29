#!/usr/bin/env bash
# deploy/slurm/health.sh as the HealthCheckProgram of a real Slurm: of two nodes it drains the one
# whose devices cannot be opened: slurm_health.sh PROGRAM.
source "$(dirname "$0")/check.sh"
script=$(realpath "$here/../../deploy/slurm/health.sh")
source "$here/cluster.sh"
open_rails 1gbit

# slurmd gives it no environment, so that what differs between the nodes is in a file.
cat > program.sh << END
#!/usr/bin/env bash
export DUET_HEALTH_FILE=$folder/settings.\$(hostname -s) SLURM_CONF=$folder/slurm.conf PATH=$PATH
exec "$script"
END
chmod +x program.sh
printf 'DUET=%s\nDUET_HEALTH="--device host --no-measurements --seconds 50 --prometheus %s/metrics.prom"\n' \
  "$duet" "$folder" > settings.node0
printf 'DUET=%s\nDUET_HEALTH="--device cuda:63 --no-measurements --seconds 50"\n' "$duet" > settings.node1
write_configuration "HealthCheckProgram=$folder/program.sh" HealthCheckInterval=2
start_daemons

state_of() { within node0 timeout 5 scontrol show node --oneliner "$1" 2> /dev/null; }

tries=300
until [[ $(state_of node1) == *State=*DRAIN* && -s metrics.prom ]]; do
  if ((--tries == 0)); then
    fail "node1 was not drained: $(state_of node1)"
    break
  fi
  sleep 0.2
done
state_of node1 > node1.state
says node1.state 'Reason=duet health: FAIL node1: .*cuda:63' "the reason"
state_of node0 > node0.state
says node0.state 'State=IDLE ' "the node without a fault"
says metrics.prom '^duet_health_ok 1$' "the metrics of the node without a fault"
finish
