#!/usr/bin/env bash
# Open MPI and libfabric for the image: install_network.sh [RELEASE of AWS's EFA installer]. Without
# a release they are the distribution's.
set -euo pipefail
release=${1:-}
apt-get update
if [[ -z $release ]]; then
  apt-get install -y --no-install-recommends libopenmpi-dev openmpi-bin libfabric-dev libfabric-bin
else
  apt-get install -y --no-install-recommends ca-certificates curl
  cd "$(mktemp -d)"
  curl -fsSL "https://efa-installer.amazonaws.com/aws-efa-installer-$release.tar.gz" | tar xz
  cd aws-efa-installer
  # The kernel's module is the host's; so are limits.
  ./efa_installer.sh -y --skip-kmod --skip-limit-conf --no-verify
  echo /opt/amazon/efa/lib > /etc/ld.so.conf.d/efa.conf
  echo /opt/amazon/openmpi/lib >> /etc/ld.so.conf.d/efa.conf
  ldconfig
fi
rm -rf /var/lib/apt/lists/*
