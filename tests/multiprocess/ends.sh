# all_end_with CODE: waits for the processes of `pids`; fail() hears of one that ends otherwise.
# To be sourced by scripts that run one program as several processes.
all_end_with() {
  local pid code
  for pid in "${pids[@]}"; do
    code=0
    wait "$pid" 2> /dev/null || code=$?
    [[ $code == "$1" ]] || fail "a process ended with $code, expected $1"
  done
}
