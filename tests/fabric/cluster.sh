# A Slurm cluster of a test's own, of two nodes in the namespaces of open_rails, or those of
# open_cluster; nothing of the machine's Slurm is touched. To be sourced behind check.sh; skips (exit 77) where Slurm is missing.
job=$(realpath "$here/../../deploy/slurm/duet.sbatch")
for each in munged slurmctld slurmd srun scontrol; do
  command -v "$each" > /dev/null || { echo "skipped: needs $each"; exit 77; }
done

# write_configuration [LINE...]: with further lines of slurm.conf.
write_configuration() {
  local k
  members=("${nodes[@]}") subnet=10.78.9
  ((${#members[@]} > 0)) || members=("$left" "$right") subnet=10.77.9
  chmod 755 "$folder"  # munge wants everybody to reach its socket
  mkdir state node
  cat > slurm.conf << END
ClusterName=duet
SlurmctldHost=node0($subnet.1)
SlurmctldPort=$((meeting_port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdSpoolDir=$folder/node
SlurmdPidFile=$folder/node/slurmd.pid
SlurmdLogFile=$folder/node/slurmd.log
TmpFS=$folder/node
SlurmdParameters=config_overrides
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=pmix
SwitchType=switch/none
ReturnToService=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
  for k in "${!members[@]}"; do
    mkdir "node$k"
    echo "NodeName=node$k NodeAddr=$subnet.$((k + 1)) Port=$((meeting_port + 2 + k)) CPUs=2" >> slurm.conf
  done
  [[ $# == 0 ]] || printf '%s\n' "$@" >> slurm.conf
  export SLURM_CONF=$folder/slurm.conf
}

# within NODE COMMAND...: in its network, under its name, and with a folder of its own in the place
# where each node has one: the plug-in pmix takes that of another node to be the same path. Not by
# `ip netns exec`, which hides the control groups that slurmd looks for.
within() { (enter "$@"); }

enter() {  # in place of this shell
  local node=$1 namespace=${members[${1#node}]}
  shift
  exec nsenter --net="/run/netns/$namespace" unshare --uts --mount bash -c \
    'mount --bind "$1/$0" "$1/node" && hostname "$0" && shift && exec "$@"' "$node" "$folder" "$@"
}

# Daemons in the foreground of a background job, so that all of it ends with the script.
start_daemons() {
  dd if=/dev/urandom of=munge.key bs=1 count=1024 status=none
  chmod 400 munge.key
  munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munged.pid" --seed-file="$folder/munged.seed" &> munged.log &
  pids+=($!)
  enter node0 slurmctld -D -c &> ctld.out &
  pids+=($!)
  local k
  for k in "${!members[@]}"; do
    enter "node$k" slurmd -D -N "node$k" &> "node$k.out" &
    pids+=($!)
  done
}

wait_for_nodes() {
  local tries=50
  until within node0 timeout 2 sinfo -h -o '%T %D' 2> /dev/null | grep -q "^idle ${#members[@]}"; do
    if ((--tries == 0)); then
      echo "FAIL: the nodes did not come" >&2
      tail -n 20 ./*.out >&2
      exit 1
    fi
    sleep 0.2
  done
}

# submits NAME CODES ARGUMENT...: the job, to its end, which `sbatch --wait` would see ten seconds late.
submits() {
  local what=$1 code=$2 ended state
  shift 2
  DUET=$duet DUET_RESULTS=$folder within node0 timeout 100 sbatch --parsable -N "${#members[@]}" \
    --output="$folder/out.0" --error="$folder/err.0" "$job" "$@" > job || fail "$what: sbatch ended with $?"
  state=$(within node0 timeout 100 bash -c '
    until state=$(scontrol show job -o "$1") && [[ $state != *JobState=@(PENDING|RUNNING|COMPLETING)" "* ]]; do
      sleep 0.2
    done
    echo "$state"' waits "$(< job)") || fail "$what: the job did not end in 100 s"
  ended=${state#*ExitCode=} ended=${ended%%:*}
  [[ "|$code|" == *"|$ended|"* ]] || fail "$what: the job ended with $ended, expected $code"
}
