// The scripts ask `duet complete -- WORD...`, whose first line is "files" or "words": whether names
// of files may stand there too. Each further line is a candidate, a tab, and its description.
#include <fmt/format.h>

#include "cli/completion.h"
#include "core/error.h"

namespace duet {
namespace {

// bash splits words at ':' and '=' too, and replaces only what is after the last of them.
constexpr const char* kBash = R"(_duet() {
  local words=() lines=() line current stem
  read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
  current=${words[-1]}
  stem=${current%"${current##*[:=]}"}
  mapfile -t lines < <("${COMP_WORDS[0]}" complete -- "${words[@]:1}" 2> /dev/null)
  COMPREPLY=()
  for line in "${lines[@]:1}"; do
    line=${line%%$'\t'*}
    COMPREPLY+=("${line#"$stem"}")
  done
  if [[ ${lines[0]} == files ]]; then
    compopt -o filenames 2> /dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "${current#"$stem"}")
  fi
}
complete -F _duet duet
)";

constexpr const char* kZsh = R"(#compdef duet
_duet() {
  local -a lines candidates
  local line
  lines=("${(@f)$(${words[1]} complete -- "${(@)words[2,CURRENT]}" 2> /dev/null)}")
  for line in "${(@)lines[2,-1]}"; do
    candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  (( $#candidates )) && _describe duet candidates
  [[ $lines[1] == files ]] && _files
}
if [[ $funcstack[1] == _duet ]]; then
  _duet "$@"
else
  compdef _duet duet
fi
)";

constexpr const char* kFish = R"(function __duet_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l lines ($words[1] complete -- $words[2..-1] 2> /dev/null)
  test (count $lines) -gt 1; and printf '%s\n' $lines[2..-1]
  test "$lines[1]" = files; and __fish_complete_path $words[-1]
end
complete -c duet -f -a '(__duet_complete)'
)";

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  throw UsageError(fmt::format("unknown shell '{}': expected bash, zsh or fish", shell));
}

}  // namespace duet
