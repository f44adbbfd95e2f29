#!/usr/bin/env bash
# Do the tests notice when a wait, a signal or a fence is missing? For each mutant of a list (one
# change of one file, mutants.txt): applies it to a copy of the source tree, builds what the mutant
# names, runs it, and expects it to fail. The unchanged copy must pass everything first.
#
#   tests/mutants/mutants.sh WORK [PATTERN]
#
# WORK: a folder for the copy and its build, kept between runs. PATTERN: only mutants whose name
# matches this extended regular expression. Exit 1 if a mutant survives or a change does not apply.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${1:?usage: mutants.sh WORK [PATTERN]}
pattern=${2:-.}
deadline=180 # seconds for the unchanged tests

mkdir -p "$work/source"
work=$(cd "$work" && pwd)
# What differs is copied and so is newer than its objects: a run that was cut off leaves a mutant.
while IFS= read -r -d '' path; do
  cmp -s "$root/$path" "$work/source/$path" && continue
  mkdir -p "$work/source/$(dirname "$path")"
  cp "$root/$path" "$work/source/$path"
done < <(cd "$root" && git ls-files -z --cached --others --exclude-standard)
cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDUET_CUDA=OFF \
  -DDUET_REPORT=OFF ${DUET_MUTANT_CMAKE:-} >"$work/configure.log"

# name, old, new, target and filter of a mutant, each on a line of its own in the list, below a file's.
names=() files=() olds=() news=() tests=()
while IFS= read -r line; do
  case "$line" in
    'file '*) file=${line#file } ;;
    'mutant '*) names+=("${line#mutant }") files+=("$file") ;;
    'old '*) olds+=("${line#old }") ;;
    'new') news+=("") ;;
    'new '*) news+=("${line#new }") ;;
    'test '*) tests+=("${line#test }") ;;
    '' | '#'*) ;;
    *) echo "mutants.txt: expected mutant, file, old, new or test: $line" >&2 && exit 2 ;;
  esac
done <"$here/mutants.txt"

# SECONDS, and a test: TARGET FILTER
run_test() {
  local target=${2%% *} filter=${2#* } libraries=
  # These load the modules of the stand-in for AMD's runtime.
  [[ $target != standin_* ]] ||
    libraries=$work/build/tests/fake_gpu/lib:$work/build/tests/fake_gpu/lib/runtime
  LD_LIBRARY_PATH=$libraries timeout "$1" "$work/build/tests/$target" --gtest_filter="$filter" --gtest_brief=1 \
    --gtest_fail_fast >"$work/test.log" 2>&1
}

build() { ninja -C "$work/build" "$1" >"$work/build.log" 2>&1; }

# Replaces the only place where `old` stands; fails where there is none, or another.
change() {
  OLD=$1 NEW=$2 perl -0777 -pi -e '
    my ($old, $new) = map { s/\\n/\n/gr } @ENV{"OLD", "NEW"};
    my $places = () = /\Q$old\E/g;
    die "$ARGV: expected one place with: $old (found $places)\n" if $places != 1;
    s/\Q$old\E/$new/' "$3"
}

chosen=()
for i in "${!names[@]}"; do
  [[ ${names[$i]} =~ $pattern ]] && chosen+=("$i")
done
[[ ${#chosen[@]} -gt 0 ]] || { echo "no mutant matches: $pattern" >&2 && exit 2; }

mapfile -t distinct < <(for i in "${chosen[@]}"; do echo "${tests[$i]}"; done | sort -u)
build program || { tail -20 "$work/build.log" && exit 1; } # a test may load any module
declare -A limits # of a test with a mutant: one that waits for ever is caught as well
for test in "${distinct[@]}"; do
  build "${test%% *}" || { tail -20 "$work/build.log" && exit 1; }
  begin=$SECONDS
  run_test "$deadline" "$test" || { echo "fails without a mutant: $test" && tail -20 "$work/test.log" && exit 1; }
  limits[$test]=$((20 + 4 * (SECONDS - begin)))
done
echo "unchanged: ${#distinct[@]} tests pass"

caught=0 survived=()
for i in "${chosen[@]}"; do
  file=$work/source/${files[$i]}
  cp -p "$file" "$work/original"
  verdict="SURVIVED"
  if ! change "${olds[$i]}" "${news[$i]}" "$file"; then
    verdict="DOES NOT APPLY"
  elif ! build "${tests[$i]%% *}"; then
    verdict="DOES NOT BUILD"
  elif ! run_test "${limits[${tests[$i]}]}" "${tests[$i]}"; then
    verdict="caught"
  fi
  cp "$work/original" "$file"
  printf '%-15s %s\n' "$verdict" "${names[$i]}"
  if [[ $verdict == caught ]]; then caught=$((caught + 1)); else survived+=("${names[$i]}"); fi
done
echo "caught $caught of ${#chosen[@]}"
[[ ${#survived[@]} -eq 0 ]]
