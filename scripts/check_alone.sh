#!/usr/bin/env bash
# Compiles sources and headers each by itself, without code: a unity build hides an include that is missing.
#   check_alone.sh        a sixteenth of them, another one at each commit
#   check_alone.sh all    every file: half an hour of one core
# Files of libraries whose headers are not here are left out, and those of vendors' compilers.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-some}
[[ $what == all || $what == some ]] || { echo "check_alone.sh: expected nothing or all, not '$what'" >&2; exit 2; }
turns=16

# A source begins with its own header, which is so checked with it. Headers of kernels are for nvcc,
# and list.h is of macros that who includes it defines.
candidates() {
  git ls-files 'src/*.cc' 'bench/*.cc' | grep -Ev '/(cuda|hip|hipblaslt|rocblas)/'
  git ls-files 'src/*.h' | grep -Ev '/(gpu|cuda|hip|nvshmem)/|/list\.h$' | while read -r header; do
    [[ -e ${header%.h}.cc || -e ${header%.h}.cu ]] || echo "$header"
  done
}

chosen() {
  [[ $what == some ]] || { candidates; return; }
  local turn=$(($(git rev-list --count HEAD) % turns))
  candidates | awk -v turn=$turn -v turns=$turns 'NR % turns == turn'
}

check() {
  local said file=("$1")
  [[ $1 != *.h ]] || file=(-include "$1" /dev/null)
  said=$(g++ -x c++ -fsyntax-only -std=c++17 -fopenmp -DFMT_SHARED \
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror -I. -Isrc -Itests $MORE "${file[@]}" 2>&1) && return 0
  # A header of a library, in angle brackets, that this system does not have.
  if grep -q 'fatal error: .*: No such file' <<< "$said" && grep -q '| #include <' <<< "$said"; then
    echo "left out: $1 ($(sed -n 's/.*fatal error: \([^:]*\): No such file.*/\1/p' <<< "$said"))"
    return 0
  fi
  printf '%s\n' "$said" >&2
  return 1
}
export -f check

# Texts that the build gives to tests, here empty.
MORE=$(grep -rhoE 'DUET_[A-Z_0-9]+=\\?"' --include=CMakeLists.txt src tests bench | sed -E 's/(.*)=.*/-D\1=""/' | sort -u | tr '\n' ' ')
[[ ! -d /usr/local/cuda/include ]] || MORE+=" -isystem /usr/local/cuda/include"
! command -v mpicxx > /dev/null || MORE+=" -DOMPI_SKIP_MPICXX $(mpicxx --showme:compile | sed 's/-I/-isystem /g')"
export MORE
chosen | xargs -P "$(nproc)" -I{} bash -c 'check {}'
echo "$(chosen | wc -l) files compile alone"
