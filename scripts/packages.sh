#!/usr/bin/env bash
# Installs the Debian packages that Duet needs, where any is missing. They are named here and
# nowhere else.
#   packages.sh          what `make run` needs: all that a machine without GPUs can measure
#   packages.sh tests    and what `make test` needs: networks, Slurm, a browser, shells and JSON Schema to test with
#   packages.sh checks   and what CI's further checks need (HIP compile, formatting, Debian 11 to build for, lintian, abidiff)
set -euo pipefail

build=(
  g++ cmake ninja-build pkgconf git python3
  libfmt-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libhwloc-dev libssl-dev zlib1g-dev libgtest-dev
  libdnnl-dev libopenblas-openmp-dev libopenmpi-dev openmpi-bin libfabric-dev
)
tests=(libfabric-bin nftables iproute2 procps slurm-wlm munge chromium-headless-shell zsh fish mandoc python3-jsonschema python3-pandas python3-wheel sqlite3)
checks=(hipcc libamdhip64-dev clang-format mmdebstrap lintian abigail-tools)

wanted=("${build[@]}")
case "${1:-}" in
  "") ;;
  tests) wanted+=("${tests[@]}") ;;
  checks) wanted+=("${tests[@]}" "${checks[@]}") ;;
  *) echo "packages.sh: expected nothing, tests or checks, not '$1'" >&2; exit 2 ;;
esac

# For the report page, without which everything else builds. Node.js from elsewhere brings its own
# npm, beside which Debian's cannot be.
page=()
command -v node >/dev/null || page+=(nodejs)
command -v npm >/dev/null || page+=(npm)

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ "$status" == installed ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 || ${#page[@]} -gt 0 ]] || exit 0

if [[ $(id -u) -eq 0 ]]; then
  as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root=(sudo)
elif [[ ${#missing[@]} -eq 0 ]]; then
  echo "Building without duet report, which needs: apt-get install --no-install-recommends ${page[*]}" >&2
  exit 0
else
  echo "Duet needs packages that are not installed, and this user may not install them. Please run:" >&2
  echo "  apt-get install --no-install-recommends ${missing[*]} ${page[*]}" >&2
  exit 1
fi
missing+=("${page[@]}")
echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
  "${missing[@]}" >/dev/null
