# Sourced by the tests over rails: PROGRAM, a scratch folder, and what a run's table says. Skips
# (exit 77) with its reason where there can be no rails.
duet=$(realpath "$1")
source "$(dirname "$0")/../scratch.sh"
source "$here/rails.sh"

reason=$(why_no_rails)
[[ -e $(dirname "$duet")/modules/duet_libfabric.so ]] || reason="needs the libfabric module"
if [[ -n $reason ]]; then
  echo "skipped: $reason"
  exit 77
fi

all_ended_with() {  # CODE WHAT
  local code
  for code in "${codes[@]}"; do
    [[ $code == "$1" ]] || { fail "$2: the processes ended with ${codes[*]}, expected $1"; return 0; }
  done
}

ended_with() {  # CODE0 CODE1 WHAT
  [[ ${codes[0]} == "$1" && ${codes[1]} == "$2" ]] ||
    fail "$3: the processes ended with ${codes[*]}, expected $1 $2"
}

# eventually WHAT COMMAND...: until it succeeds, up to five times with longer and longer rests, since two cores
# run both processes, the rails and whatever else is there.
eventually() {
  local what=$1 try
  shift
  for try in 1 2 3 4 5; do
    ((try == 1)) || sleep "$((5 * (try - 1)))"
    if "$@"; then return; fi
  done
  fail "$what"
}

holds() {  # EXPRESSION of numbers
  awk "BEGIN { exit !($1) }"
}

# reaches WHAT LOW HIGH COMMAND...: percent of the links in the table.csv that it writes, of its only
# case.
reaches() { eventually "$1" reaches_once "$@"; }

reaches_once() {
  local what=$1 low=$2 high=$3 percent
  shift 3
  rm -f table.csv
  "$@" || fail "$what: ended with $?"
  percent=$(column table.csv percent_of_link)
  echo "$what: $percent% of the links, expected $low to $high%"
  holds "$percent >= $low && $percent <= $high"
}

# column TABLE NAME [ROW]: of a table that --csv wrote, without quoted cells before the column.
column() {
  awk -F, -v name="$2" -v row="${3:-1}" '
    NR == 1 { for (i = 1; i <= NF; ++i) if ($i == name) at = i }
    NR == row + 1 { print $at }' "$1"
}
