# Runs one program as several processes. To be sourced behind scratch.sh.

# start SIZE COMMAND...: that many in the background, by their variables; pids in pids, what process N
# writes in out.N and err.N. They meet at `address`. A port of its own for every run: one that was used may still be closing.
start() {
  local size=$1 rank
  shift
  new_run
  for ((rank = 0; rank < size; ++rank)); do one_of "$size" "$rank" "$@"; done
}

new_run() {
  rm -f out.* err.*
  port=$((port + 1))
  pids=()
}

one_of() {  # SIZE RANK COMMAND...
  local size=$1 rank=$2
  shift 2
  MASTER_ADDR=${address:-127.0.0.1} MASTER_PORT=$port RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$size \
    "$@" > "out.$rank" 2> "err.$rank" &
  pids[rank]=$!
}

# all_end_with CODE [WHAT]: waits for all in pids; fail() hears of one that ends otherwise.
all_end_with() {
  local rank code
  for rank in "${!pids[@]}"; do
    code=0
    wait "${pids[rank]}" 2> /dev/null || code=$?
    [[ $code == "$1" ]] || fail "${2:+$2: }process $rank ended with $code, expected $1"
  done
  pids=()
}

# refuses TEXT [VARIABLE=VALUE...] COMMAND...: ends with 2 and one line, which has the text.
refuses() {
  local text=$1 code=0
  shift
  env "$@" > out.refused 2> err.refused || code=$?
  [[ $code == 2 && $(wc -l < err.refused) == 1 ]] || fail "$*: exit $code"
  says err.refused "$text" "$*"
}
