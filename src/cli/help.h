#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace duet {

// Formats --help: wraps it to the width of the terminal, at most 100, with one blank line between
// groups.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(26); }
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* app) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

// The names of a flag and the type of its value: "--flush,--no-flush SECONDS".
std::string flag_names(const CLI::Option& option);

// The words that give a flag: "-h", "--help"; none for a positional.
std::vector<std::string> flag_words(const CLI::Option& option);

// The commands that --help lists, in its order.
std::vector<const CLI::App*> shown_commands(const CLI::App& root);

}  // namespace duet
