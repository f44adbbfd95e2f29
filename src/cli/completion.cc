#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/flag_values.h"
#include "cli/help.h"
#include "core/error.h"

namespace duet {
namespace {

bool begins_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

bool is_flag(const std::string& word) { return !word.empty() && word[0] == '-'; }

const CLI::Option* find_flag(const CLI::App& app, const std::string& word) {
  for (const CLI::Option* option : app.get_options()) {
    const Words words = flag_words(*option);
    if (std::find(words.begin(), words.end(), word) != words.end()) return option;
  }
  return nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// Of a text in several sentences the first one.
std::string first_sentence(const std::string& text) {
  return text.substr(0, std::min(text.find("; "), text.find(". ")));
}

class Completer {
 public:
  explicit Completer(std::string word) : word_(std::move(word)) {}

  void offer(const std::string& candidate, const std::string& description = "") {
    if (begins_with(candidate, word_)) {
      found_.candidates.push_back({candidate, first_sentence(description)});
    }
  }

  void offer_commands(const CLI::App& root) {
    for (const CLI::App* each : shown_commands(root)) {
      offer(each->get_name(), each->get_description());
    }
  }

  void offer_flags(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& each : flag_words(*option)) offer(each, option->get_description());
    }
  }

  // `before`: what the word begins with, such as "--device=".
  void offer_values(const CLI::Option& option, const std::string& before) {
    const std::string name =
        option.get_positional() ? option.get_name(true) : flag_words(option).back();
    const std::size_t comma = word_.rfind(',');
    const std::string start =
        comma == std::string::npos || comma < before.size() ? before : word_.substr(0, comma + 1);
    for (const std::string& each : offered(option)) offer(start + each);
    const std::string type = option.get_type_name();
    found_.files = type.find("FILE") != std::string::npos ||
                   type.find("FOLDER") != std::string::npos || files_offered(option) ||
                   begins_with(name, "journal");
  }

  Completion found() && { return std::move(found_); }

 private:
  std::string word_;
  Completion found_;
};

const CLI::Option* first_positional(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) return option;
  }
  return nullptr;
}

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

Completion complete(const CLI::App& root, const std::vector<std::string>& words) {
  const std::string word = words.empty() ? "" : words.back();
  Completer completer(word);
  const CLI::App* app = nullptr;
  for (const CLI::App* each : shown_commands(root)) {
    if (words.size() > 1 && each->get_name() == words.front()) app = each;
  }
  if (app == nullptr) {
    if (words.size() > 1) return {};  // after a word that is no command
    if (is_flag(word)) {
      completer.offer_flags(root);
    } else {
      completer.offer_commands(root);
    }
    return std::move(completer).found();
  }
  const CLI::Option* before = words.size() > 2 ? find_flag(*app, words[words.size() - 2]) : nullptr;
  const std::size_t equals = word.find('=');
  if (before != nullptr && takes_value(*before) && !is_flag(word)) {
    completer.offer_values(*before, "");
  } else if (is_flag(word) && equals != std::string::npos) {
    const CLI::Option* flag = find_flag(*app, word.substr(0, equals));
    if (flag != nullptr && takes_value(*flag)) {
      completer.offer_values(*flag, word.substr(0, equals + 1));
    }
  } else if (is_flag(word)) {
    completer.offer_flags(*app);
  } else if (const CLI::Option* positional = first_positional(*app)) {
    completer.offer_values(*positional, "");
  }
  return std::move(completer).found();
}

std::string command_with_word(const CLI::App& root, const std::string& word) {
  if (word == "all") return "";
  for (const CLI::App* app : shown_commands(root)) {
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_positional()) continue;
      const Words words = offered(*option);
      if (std::find(words.begin(), words.end(), word) != words.end()) {
        return "duet " + app->get_name();
      }
    }
  }
  return "";
}

// The scripts ask `duet complete -- WORD...`, whose first line is "files" or "words": whether names
// of files may stand there too. Each further line is a candidate, a tab, and its description.

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  throw UsageError(fmt::format("unknown shell '{}': expected bash, zsh or fish", shell));
}

}  // namespace duet
