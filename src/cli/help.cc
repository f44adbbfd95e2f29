#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace duet {
namespace {

constexpr std::size_t kPageWidth = 100;

// `name` in a column, and `text` wrapped beside it. A name that is too long has its own line.
std::string entry(const std::string& name, const std::string& text, std::size_t column) {
  std::string out = "  " + name;
  std::size_t at = out.size();
  const auto new_line = [&] {
    out += "\n" + std::string(column, ' ');
    at = column;
  };
  if (at + 2 > column) {
    new_line();
  } else {
    out += std::string(column - at, ' ');
    at = column;
  }
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find(' ', begin);
    if (end == std::string::npos) end = text.size();
    if (at > column && at + 1 + end - begin > kPageWidth) {
      new_line();
    } else if (at > column) {
      out += ' ';
      ++at;
    }
    out += text.substr(begin, end - begin);
    at += end - begin;
    begin = end + 1;
  }
  return out + "\n";
}

}  // namespace

std::string flag_names(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  const std::string names = fmt::format("{}", fmt::join(flag_words(option), ", "));
  // In CLI11 the type name of a flag is "" and that of a list of values is "TYPE ...".
  const std::string type = option.get_items_expected_max() == 0 ? "" : option.get_type_name();
  return names + (type.empty() ? "" : " " + type);
}

std::vector<std::string> flag_words(const CLI::Option& option) {
  std::vector<std::string> words;
  for (const std::string& name : option.get_snames()) words.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.push_back("--" + name);
  return words;
}

std::vector<const CLI::App*> shown_commands(const CLI::App& root) {
  std::vector<const CLI::App*> shown;
  for (const CLI::App* each : root.get_subcommands([](const CLI::App*) { return true; })) {
    if (!each->get_group().empty()) shown.push_back(each);
  }
  return shown;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool) const {
  return entry(flag_names(*option), option->get_description(), get_column_width());
}

std::string HelpFormatter::make_subcommand(const CLI::App* app) const {
  return entry(app->get_name(), app->get_description(), get_column_width());
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  std::string text = Formatter::make_help(app, name, mode);
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace duet
