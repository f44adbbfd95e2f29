#!/usr/bin/env bash
# That scripts/run_tests.sh keeps ctest's words and exit code, and gives each skipped test with its
# reason: run_tests.sh SOURCE.
script=$(realpath "$1")/scripts/run_tests.sh
source "$(dirname "$0")/../scratch.sh"

cat > CTestTestfile.cmake << 'end'
add_test(passes sh -c "echo skipped: not this one")
add_test(by_code sh -c "echo first; echo 'skipped: needs <two> & \"more\" GPUs'; exit 77")
add_test(silent sh -c "exit 77")
add_test(by_words sh -c "printf '%s\\n' 'a_test.cc:7: Skipped' '--device cuda: no NVIDIA driver' '' '[  SKIPPED ] 1 test'")
set_tests_properties(by_code silent PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(by_words PROPERTIES SKIP_REGULAR_EXPRESSION "--device cuda")
end
"$script" . > out 2>&1 || fail "exit $? where nothing failed"
says out "^100% tests passed, 0 tests failed out of 4$"
says out "^Total Test time"
says out "^3 tests skipped:$"
says out '^  by_code  +needs <two> & "more" GPUs$'
says out "^  by_words  +--device cuda: no NVIDIA driver$"
says out "^  silent  +it does not say why$"
! grep -qE "^  passes" out || fail "a test that passed is listed"
[[ $(tail -n 1 out) == "  by_words"* ]] || fail "the list is not the end"

echo 'add_test(fails sh -c "exit 3")' >> CTestTestfile.cmake
code=0
"$script" . > out 2>&1 || code=$?
[[ $code == 8 ]] || fail "exit $code, ctest's is 8"
says out "^3 tests skipped:$"

# A hanging test ends at the limit, which a caller may set; a slow machine has a longer one.
echo 'add_test(hangs sleep 60)' >> CTestTestfile.cmake
"$script" . -R hangs --timeout 1 > out 2>&1 && fail "a test that hangs passes"
says out "Timeout"
says_limit() { "$1" . -R passes -V 2>&1 | grep -oE 'Test timeout computed to be: [0-9]+' | grep -oE '[0-9]+'; }
usual=$(says_limit "$script")
sed 's/^usual_ms=[0-9]*/usual_ms=1/' "$script" > slow.sh
chmod +x slow.sh
slow=$(says_limit ./slow.sh)
((usual >= 600 && slow > 10 * 600)) || fail "limits $usual and $slow, expected at least 600, and more on a slow machine"

"$script" . -R passes > out 2>&1 || fail "exit $?"
! grep -q "skipped:$" out || fail "a list of nothing"
finish
