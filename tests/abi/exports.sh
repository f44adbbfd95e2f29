#!/usr/bin/env bash
# libduet exports the functions of duet.h and names of namespace duet, and nothing of other libraries, which
# a program may have in another version; its modules export duet_register alone: exports.sh BUILD HEADER.
build=$(realpath "$1") header=$(realpath "$2")
source "$(dirname "$0")/../scratch.sh"

exported() { nm -D --defined-only "$1" | sed 's/^[0-9a-f]* //'; }  # type and name

exported "$build/libduet.so" > all
! grep '^u ' all > out.unique || fail "libduet.so: names that are unique over a process"
# A prefix for what a class or variable has beside itself, and the nested name.
own='^[A-Z] _Z(T[VTISWH]|GV|Z|GVZ|T[hv][0-9n_]+_|Tc([hv][0-9n_]+_)+)?NK?4duet'
grep -vE "$own|^[VW] _Z(T[VTIS]|GV)N4duet" all > out.others || true
sed -n 's/^.*\b\(duet_[a-z_]*\)(.*DUET_NOEXCEPT;.*/\1/p; s/^DUET_API.*\b\(duet_[a-z_]*\)(.*/\1/p' "$header" | sort -u > functions
diff <(sed 's/^T //' out.others | sort) functions > out.difference ||
  fail "libduet.so: expected the functions of duet.h (>) and of C++ namespace duet alone (<: others)"
[[ $(grep -c . functions) -gt 30 && $(grep -cE "$own" all) -gt 100 ]] || fail "names were not found"

for module in "$build"/modules/*.so; do
  [[ -e $module ]] || continue  # none was built
  [[ $(exported "$module") == "T duet_register" ]] || fail "$module: expected duet_register alone: $(exported "$module" | head -n 3)"
done
finish
