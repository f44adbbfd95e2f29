#!/usr/bin/env bash
# Collectives over two nodes of four rails of 1 Gbit/s, beside Open MPI's on the same rails, by one
# mpirun that starts the ranks of both namespaces: beside_mpi.sh PROGRAM [BYTES [RATE]]. Prints rates,
# bounds nothing.
source "$(dirname "$0")/check.sh"
bytes=${2:-64M}
command -v mpirun > /dev/null || { echo "skipped: needs mpirun"; exit 77; }
for module in mpi collectives_mpi; do
  [[ -e $(dirname "$duet")/modules/duet_$module.so ]] || { echo "skipped: needs the module $module"; exit 77; }
done
open_rails "${3:-1gbit}"

# Enters a node: its network, and a host name and processes of its own, without which mpirun and Duet
# would take both for one machine.
cat > agent << END
#!/bin/bash
name=\$1
shift
namespace=$left
[[ \$name == 10.77.9.2 ]] && namespace=$right
exec nsenter --net=/run/netns/\$namespace unshare --uts --pid --fork --mount-proc \\
  bash -c "hostname node\${name##*.}; \$*"
END
chmod +x agent

for ranks in 1 2; do
  nsenter --net="/run/netns/$left" unshare --uts bash -c 'hostname head; exec "$@"' - \
    timeout 300 mpirun --allow-run-as-root --mca plm_rsh_agent "$folder/agent" \
    --mca oob_tcp_if_include c --mca btl tcp,self,vader --mca btl_tcp_if_include r0,r1,r2,r3 \
    --mca pml ob1 --oversubscribe --bind-to none --map-by "ppr:$ranks:node" \
    -n "$((2 * ranks))" -H "10.77.9.1:$ranks,10.77.9.2:$ranks" -x DUET_TOKEN \
    "$duet" collective all_gather,all_to_all,reduce_scatter,all_reduce --device host --engine dma,mpi \
    --rails r0,r1,r2,r3 -b "$bytes" -e "$bytes" --in-place out --iterations 9 > out.0 2> err.0 ||
    fail "$ranks ranks a node"
  echo "$ranks ranks a node, $bytes:"
  cat out.0
done
finish
