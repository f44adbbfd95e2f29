#!/usr/bin/env bash
# The squashfs that Slurm's jobs run in, from the image that was built of ../container/Dockerfile:
#   deploy/slurm/enroot.sh [IMAGE [FILE]]      default: duet:latest, duet.sqsh
set -euo pipefail
image=${1:-duet:latest}
file=${2:-duet.sqsh}
command -v enroot > /dev/null || {
  echo "enroot.sh: enroot is not installed: expected it, and the docker daemon that holds $image" >&2
  exit 2
}
enroot import --output "$file" "dockerd://$image"
echo "$file: sbatch with DUET_IMAGE=$(realpath "$file")"
