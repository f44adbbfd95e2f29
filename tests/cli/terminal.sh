#!/usr/bin/env bash
# What files and arguments hold reaches no terminal as a command; colours where they are wanted.
source "$(dirname "$0")/check.sh"
esc=$'\x1b'
c1=$'\xc2\x9b'
turn=$'\xe2\x80\xae'

# nothing_raw WHAT: neither output has a control character, a mark of direction or a byte alone.
nothing_raw() {
  local all
  all=$(cat out err | tr -d '\n\t' | LC_ALL=C grep -cE $'[\x01-\x1f\x7f]' || true)
  [[ $all == 0 ]] || fail "$1: control characters: $(cat -v out err | head -5)"
  grep -qF -e "$c1" -e "$turn" out err && fail "$1: C1 or direction: $(cat -v out err | head -5)"
  cat out err | iconv -f UTF-8 -t UTF-8 > /dev/null 2>&1 || fail "$1: no UTF-8: $(cat -v out err)"
}

# Arguments.
for argument in "host${esc}[2J" "host$c1" "host$turn" $'host\xff' $'host\nduet: 4 cases: 4 measured'; do
  for command in "gemm --device" "collective" "run" "report" "copy --sizes" "--fl" "overlap --policy" "fabric"; do
    run $command "$argument"
    [[ $code == 2 || $command == report ]] || fail "$command $(cat -v <<< "$argument"): exit $code"
    nothing_raw "$command"
    [[ $(wc -l < err) == 1 ]] || fail "$command: expected one line: $(cat -v err)"
  done
done
run gemm --device "host${esc}[2J"
grep -qF 'host\u001b[2J' err || fail "an escape is not shown as one: $(cat -v err)"
name="a${esc}]0;b.jsonl"
expect_code 0 copy --device sim:mi300x-8 --kind local --executor dma --sizes 64K --json "$name"
nothing_raw "a journal's name"
run copy --device sim:mi300x-8 --kind local --executor dma --sizes 64K --json "$name"
nothing_raw "a journal that exists"

# Journals, whatever reads them.
expect_code 0 collective all_gather --device sim:mi300x-8 -b 64K --json clean.jsonl
hostile='\\u001b[2J\\u009b1m\\u202e\\nduet: all is well\\u007f'
sed -e "s/\"model\":\"[^\"]*\"/\"model\":\"$hostile\"/g" \
    -e "s/\"engine\":\"dma\"/\"engine\":\"dma$hostile\"/" \
    -e "s/\"notes\":{/\"warnings\":[\"$hostile\"],\"notes\":{\"x\":\"$hostile\",/" clean.jsonl > hostile.jsonl
for arguments in 'compare clean.jsonl hostile.jsonl --across-devices --all' \
  'compare hostile.jsonl hostile.jsonl --all --fail-on-regression 1%' 'report hostile.jsonl' \
  'calibrate hostile.jsonl' 'predict hostile.jsonl' 'advise --score hostile.jsonl' \
  'collective all_gather --device sim:mi300x-8 -b 64K --json hostile.jsonl --resume'; do
  run $arguments
  nothing_raw "$arguments"
  grep -qx 'duet: all is well.*' out err && fail "$arguments: a journal's words look like a message"
done
printf 'x\x1b[2J\n' > broken.jsonl
refuses 'broken.jsonl:1' compare broken.jsonl clean.jsonl
nothing_raw "a broken journal"

# A platform, a scenario, a tuning file: the text that is wrong is shown.
"$duet" info --device sim:mi300x-8 > /dev/null
printf 'description = "x%s"\ndevices = "%s"\n' "$turn" "$c1" > hostile.toml
refuses "'devices' is" copy --device sim:hostile.toml
nothing_raw "a platform"

# Colours and cursor movements.
if script -qec true /dev/null > /dev/null 2>&1 < /dev/null; then
  short="$duet copy --device sim:mi300x-8 --kind local --executor dma --sizes 64K"
  on_terminal() { env "$@" script -qec "$short" /dev/null < /dev/null | tr -d '\r' > terminal; }
  on_terminal TERM=xterm NO_COLOR=
  grep -qF "${esc}[1m" terminal || fail "no colours on a terminal: $(cat -v terminal)"
  grep -qF "${esc}[K" terminal || fail "no progress on a terminal: $(cat -v terminal)"
  on_terminal TERM=xterm NO_COLOR=1
  grep -qE "${esc}\[[0-9;]*m" terminal && fail "colours with NO_COLOR: $(cat -v terminal)"
  on_terminal TERM=dumb
  grep -qF "$esc" terminal && fail "escapes with TERM=dumb: $(cat -v terminal)"
fi
finish
