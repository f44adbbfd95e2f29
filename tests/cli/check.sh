# Sourced by the tests of the command line: a scratch folder, and checks that say what went wrong.
duet=$(realpath "$1")
source "$(dirname "$0")/../scratch.sh"

# run ARGUMENT...: duet with its exit code in $code, output in `out` and errors in `err`.
run() {
  code=0
  "$duet" "$@" > out 2> err || code=$?
}

# expect_code CODE ARGUMENT...
expect_code() {
  local wanted=$1
  shift
  run "$@"
  [[ $code == "$wanted" ]] || fail "duet $*: exit $code, expected $wanted: $(cat err)"
}

# refuses TEXT ARGUMENT...: exit 2, one line on stderr with the text, nothing on stdout, no new file.
refuses() {
  local text=$1 before after
  shift
  before=$(ls | grep -vx -e out -e err || true)
  expect_code 2 "$@"
  after=$(ls | grep -vx -e out -e err || true)
  [[ $(wc -l < err) == 1 ]] || fail "duet $*: expected one line: $(cat err)"
  [[ ! -s out ]] || fail "duet $*: wrote to stdout: $(cat out)"
  grep -qF -- "$text" err || fail "duet $*: expected '$text' in: $(cat err)"
  [[ $before == "$after" ]] || fail "duet $*: left files behind: $after"
}
