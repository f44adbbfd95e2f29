#!/usr/bin/env bash
# ctest over a build folder, and behind its own summary a line for each test that was skipped, with
# its reason: run_tests.sh BUILD [ctest's arguments]. Ends with ctest's exit code.
set -uo pipefail
build=${1:?usage: run_tests.sh BUILD [ctest arguments]}
shift
results=$(mktemp)
trap 'rm -f "$results"' EXIT

ctest --test-dir "$build" --output-on-failure --output-junit "$results" "$@"
code=$?

# A reason is what a script says behind "skipped: ", else GoogleTest's line below "Skipped", else
# the last line.
awk '
  function plain(text) {
    gsub(/&lt;/, "<", text); gsub(/&gt;/, ">", text); gsub(/&quot;/, "\"", text)
    gsub(/&apos;/, "'\''", text); gsub(/&amp;/, "\\&", text)
    return text
  }
  /<testcase / {
    name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name)
    skipped = 0; said = below = last = ""
  }
  /<skipped/ { skipped = 1 }
  /<system-out>/ { inside = 1; sub(/.*<system-out>/, "") }
  inside && skipped {
    line = $0; sub(/<\/system-out>.*/, "", line)
    if (said == "" && match(line, /skipped: /)) said = substr(line, RSTART + RLENGTH)
    if (after && below == "" && line != "") below = line
    after = line ~ /: Skipped$/
    if (line != "") last = line
  }
  /<\/system-out>/ { inside = after = 0 }
  /<\/testcase>/ && skipped {
    reason = said != "" ? said : below != "" ? below : last
    if (reason == "") reason = "it does not say why"
    list = list sprintf("  %-24s %s\n", name, plain(reason))
    ++count
  }
  END { if (count > 0) printf "\n%d %s skipped:\n%s", count, count == 1 ? "test" : "tests", list }
' "$results"
exit $code
