#!/usr/bin/env bash
# Every relative link of a Markdown page names a file that exists and, with #, a heading in it.
set -euo pipefail
cd "${1:?usage: check_links.sh REPOSITORY}"
seen=0 bad=0

# Headings as links name them: lower case, hyphens for spaces, without other punctuation.
anchors() {
  awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print }' "$1" |
    sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g' | tr '[:upper:]' '[:lower:]' |
    sed -E 's/[^a-z0-9_ -]//g; s/ /-/g'
}

while IFS= read -r page; do
  while IFS= read -r link; do
    [[ $link =~ ^https?: ]] && continue
    seen=$((seen + 1))
    file=${link%%#*} anchor=
    [[ $link == *#* ]] && anchor=${link#*#}
    target=$page
    [[ -z $file ]] || target=$(dirname "$page")/$file
    if [[ ! -e $target ]]; then
      echo "$page: no $link"
      bad=1
    elif [[ -n $anchor ]] && ! anchors "$target" | grep -qxF -- "$anchor"; then
      echo "$page: no heading for $link"
      bad=1
    fi
  done < <(grep -oE '\]\([^) ]+\)' "$page" | sed -E 's/^\]\(//; s/\)$//')
done < <(find README.md CONTRIBUTING.md ARCHITECTURE.md deploy docs -name '*.md' | sort)
if ((seen < 100)); then
  echo "only $seen links found: is the tree not there?"
  bad=1
fi
exit $bad
