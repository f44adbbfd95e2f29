#!/usr/bin/env bash
# The check accepts kernels as they should be, and finds a wait, an invalidation, a scope and a
# non-temporal store that are left out.
source "$(dirname "$0")/../scratch.sh"
check=$here/check.py

# kernel NAME LINE...: a kernel of this name, in the form of clang's assembly.
kernel() {
  local name=$1
  shift
  echo "_ZN12_GLOBAL__N_1${#name}${name}E5Table: ; @$name"
  printf '\t%s\n' "$@" s_endpgm
  echo ".Lfunc_end0:"
}
load="global_load_dwordx2 v[2:3], v1, s[8:9] sc0 sc1"
store="global_store_dwordx2 v[2:3], v[4:5], off sc0 sc1"
stream="global_store_dwordx4 v[2:3], v[6:9], off offset:-8 nt"
wait="s_waitcnt vmcnt(0)"
invalidate="buffer_inv sc0 sc1"
write_back="buffer_wbl2 sc0 sc1"
words=("$load" "$wait" "$invalidate" "$write_back" "$wait" "$store")

# all PEER...: every kernel that the check knows, with these lines for those that signal and wait.
all() {
  for name in local_kernel peer_kernel peer_moves_kernel push_kernel; do kernel "$name" "$@"; done
  for name in packet_kernel packet_moves_kernel bare_packet_kernel packet_norm_kernel; do kernel "$name" "$load" "$wait" "$store"; done
  kernel push_rest "$store"
  kernel take_rest "$load" "$wait"
  kernel sweep_kernel "${streamed[@]}"
  kernel exchange_kernel "${streamed[@]}" "$@"
}

# finds TEXT LINE...: the check of kernels with these lines ends with 1 and says TEXT; with 0 if ''.
finds() {
  local text=$1 status=0
  shift
  all "$@" > kernels.s
  python3 "$check" kernels.s > out || status=$?
  [[ -n $text ]] && expected=1 || expected=0
  if [[ $status != "$expected" ]] || ! grep -q "$text" out; then
    fail "expected '$text' of: $*"
  fi
}

streamed=("$stream")
finds '' "${words[@]}"
finds 'nothing waits for the write-back' "$load" "$wait" "$invalidate" "$write_back" "$store"
finds 'nothing waits for the write-back' "${words[@]}" "$write_back" "buffer_inv sc1" s_barrier
finds 'no caches are invalidated' "${words[@]}" "$load" "$wait" "$stream"
finds 'no caches are invalidated' "${words[@]}" "$load" "$invalidate"
packet=("flat_load_dwordx2 v[2:3], v[4:5] sc0 sc1" "flat_load_dwordx2 v[6:7], v[4:5] offset:8 sc0 sc1")
finds '' "${packet[0]}" "s_nop 0" "${packet[1]}" "$wait" "${words[@]}"
finds 'no caches are invalidated' "${packet[0]}" "$wait" "${packet[1]}" "$wait" "${words[@]}"
finds 'no caches are invalidated' "${packet[0]}" "${packet[1]/v\[4:5\]/v[8:9]}" "$wait" "${words[@]}"
finds 'no caches are invalidated' "${packet[0]}" "${packet[1]/:8 /:16 }" "$wait" "${words[@]}"
finds 'has no acquire' "$load" "$wait" "buffer_inv sc1" "$write_back" "$wait" "$store"
finds 'has no release' "$load" "$wait" "$invalidate" "buffer_wbl2 sc1" "$wait" "$store"
finds 'has no store' "$load" "$wait" "$invalidate" "$write_back" "$wait" "${store% sc0 sc1}"
streamed=("${stream% nt}")
finds 'sweep_kernel has no non-temporal store' "${words[@]}"
streamed=("$stream" "$store")
finds 'sweep_kernel has a store, of which' "${words[@]}"
finish
