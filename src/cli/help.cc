#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "core/terminal.h"

namespace duet {
namespace {

constexpr std::size_t kWidest = 100;

// Of the terminal on standard output; where there is none, kWidest.
std::size_t page_width() {
  constexpr std::size_t kNarrowest = 50;
  const std::size_t width = terminal_width(STDOUT_FILENO);
  return width > 0 ? std::clamp(width, kNarrowest, kWidest) : kWidest;
}

// `text` in lines of at most `width` columns, of which the first begins at column `at` and the
// others at `indent`.
std::string wrapped(const std::string& text, std::size_t at, std::size_t indent,
                    std::size_t width) {
  std::string out;
  bool first = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (!first && at + 1 + end - begin > width) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (!first) {
      out += ' ';
      ++at;
    }
    out += text.substr(begin, end - begin);
    at += end - begin;
    begin = end + 1;
    first = false;
  }
  return out;
}

// `name` in a column, and `text` wrapped beside it. A name that is too long has lines of its own.
std::string entry(const std::string& name, const std::string& text, std::size_t column) {
  const std::size_t width = page_width();
  std::string out = "  " + wrapped(name, 2, 4, width);
  const std::size_t at = out.size();
  out += at + 2 > column ? "\n" + std::string(column, ' ') : std::string(column - at, ' ');
  return out + wrapped(text, column, column, width) + "\n";
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

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrapped(app->get_description(), 0, 0, page_width()) + "\n";
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  const std::string usage = Formatter::make_usage(app, std::move(name));
  const std::size_t end = usage.find_last_not_of('\n') + 1;
  return wrapped(usage.substr(0, end), 0, 7, page_width()) + usage.substr(end);
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  std::string text = Formatter::make_help(app, name, mode);
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace duet
