#!/usr/bin/env bash
# What shells complete, in the shells themselves, and the manual page: completion.sh DUET
PATH=$(dirname "$(realpath "$1")"):$PATH
source "$(dirname "$0")/../scratch.sh"
set +e
touch journal.jsonl
for tool in fish zsh mandoc; do
  command -v $tool > /dev/null || { echo "FAIL: needs $tool (scripts/packages.sh tests)" >&2; exit 1; }
done

# WHAT EXPECTED FOUND, the latter two as words in any order.
same() {
  local expected found
  expected=$(tr ' ' '\n' <<< "$2" | sort | xargs) found=$(tr ' ' '\n' <<< "$3" | sort | xargs)
  [[ $expected == "$found" ]] || fail "$1: expected '$expected', found '$found'"
}

# A line, and what may be its last word.
cases=(
  "duet comp|compare completion"
  "duet gemm --dty|--dtype"
  "duet gemm --dtype bf16,fp1|bf16,fp16"
  "duet run |quick seed"
  "duet collective all_r|all_reduce"
  "duet fabric read|read"
  "duet halo --norm de|device delayed"
  "duet overlap pap|paper"
  "duet reproduce con|conccl"
  "duet train q|qwen3 qwen3-moe"
  "duet train gpt --model 1|1.5b 13b"
  "duet train gpt --recipe fp|fp32 fp8"
  "duet gemm --set sq|squares"
  "duet copy --set all_to_one_r|all_to_one_read_ce all_to_one_read_sm"
  "duet copy --set nv|nvbandwidth"
  "duet copy --kind peer,d|peer,device_to_host"
  "duet gemm --mode do|do_bench"
  "duet copy --device sim:h200-|sim:h200-4 sim:h200-8"
  "duet report jour|journal.jsonl"
  "duet gemm --json jour|journal.jsonl"
  "duet gemm --tuning-seconds |"
  "duet overlap --policy pri|priority priority+partition"
  "duet nccl-env --for s|shell srun"
  "duet gemm --engine onedn|onednn"
  "duet collective all_gather --engine nvshmem-|nvshmem-block nvshmem-grid"
  "duet gemm --layout t|tn"
  "duet train gpt --parallel z|zero3"
  "duet collective all_gather -d bf|bfloat16 bf16"
  "duet collective all_reduce -o m|max min"
  "duet train gpt --model ti|tiny"
  "duet nothing |"
)

# bash, whose words end at a colon too.
source <(duet completion bash)
in_bash() {
  COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=(duet)
  _duet
  printf '%s\n' "${COMPREPLY[@]}"
}
for each in "${cases[@]}"; do
  same "bash: ${each%|*}" "$(sed -E 's/(^| )[^ ]*:/\1/g' <<< "${each#*|}")" "$(in_bash "${each%|*}")"
done

for each in "${cases[@]}"; do
  found=$(fish --no-config -c 'duet completion fish | source; complete -C $argv[1]' "${each%|*}" | cut -f 1)
  same "fish: ${each%|*}" "${each#*|}" "$found"
done

# zsh completes in a terminal only: a line, and what it has become when a key shows it.
cat > terminal.zsh <<'END'
zmodload zsh/zpty
zpty shell 'zsh -f -i'
zpty -w shell 'PS1=; bindkey -e; autoload -Uz compinit && compinit -u -D'
zpty -w shell 'source <(duet completion zsh)'
zpty -w shell 'show() { print -r -- "<$BUFFER>"; BUFFER= }; zle -N show; bindkey "^X" show; print re""ady'
zpty -r -m shell answer '*ready*' || exit 1
zpty -w -n shell "$1"$'\t\C-X'
zpty -r -m shell answer '*<*>*'
print -r -- "${${answer##*<}%%>*}"
END
in_zsh() { timeout 20 zsh -f terminal.zsh "$1"; }
same "zsh: a flag" "duet gemm --dtype" "$(in_zsh "duet gemm --dty")"
same "zsh: a list" "duet gemm --dtype bf16,fp16" "$(in_zsh "duet gemm --dtype bf16,fp1")"
same "zsh: a colon" "duet copy --device sim:h200" "$(in_zsh "duet copy --device sim:h20")"
same "zsh: a file" "duet report journal.jsonl" "$(in_zsh "duet report jour")"

# A manual page without a date is the same each time.
duet docs man > duet.1
mandoc -T lint duet.1 | grep -v "longer than 80 bytes\|missing date" > lint
same "the manual page" "" "$(cat lint)"
same "commands of the manual page" "$(duet docs | grep -c '^## duet ')" "$(grep -c '^\.SH DUET ' duet.1)"
duet completion tcsh 2> err && fail "tcsh"
says err "expected bash, zsh or fish"
finish
