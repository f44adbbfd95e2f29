#!/usr/bin/env bash
# Libraries of ours in a program that was started without standard streams: they take the numbers
# before a file or a socket of the program gets them. closed_streams.sh LIBRARY...
set -euo pipefail
failures=0

# has_streams LIBRARY CLOSED...: in a program without the streams CLOSED that loads the library.
has_streams() {
  (
    for stream in "${@:2}"; do eval "exec $stream>&-"; done
    LD_PRELOAD=$1 bash -c '[[ -e /proc/self/fd/0 && -e /proc/self/fd/1 && -e /proc/self/fd/2 ]]'
  )
}

for closed in 0 1 2 '0 1 2'; do
  # shellcheck disable=SC2086
  ! has_streams '' $closed || { echo "without a library stream $closed is open: nothing is tested" >&2; exit 1; }
  for library in "$@"; do
    # shellcheck disable=SC2086
    has_streams "$library" $closed || { echo "FAIL: $library leaves stream $closed closed" >&2; failures=1; }
  done
done
exit $failures
