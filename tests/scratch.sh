# To be sourced, as the first thing behind the paths of a test's arguments: an empty folder as the current
# one, which ends with the script as the processes of `pids` do; `here`, where the script is; a port; what
# the user's own runs have set is not seen. `fail` and `says` tell what is wrong, `finish` ends the script.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
source "$(dirname "${BASH_SOURCE[0]}")/ports.sh"
folder=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
export DUET_TUNING=$folder/tuning.json DUET_ADVICE=$folder/advice.json
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT
failures=0

fail() {
  echo "FAIL: $*" >&2
  tail -n +1 out* err* >&2 2> /dev/null || true
  failures=$((failures + 1))
}

says() {  # FILE TEXT [WHAT]
  grep -qE -- "$2" "$1" || fail "${3:+$3: }$1: expected '$2'"
}

finish() { exit $((failures > 0)); }
