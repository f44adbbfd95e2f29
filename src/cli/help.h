// How --help is laid out: descriptions wrapped to the width of a page, one blank line between
// groups.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

namespace duet {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(26); }
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* app) const override;
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

// "--flush,--no-flush SECONDS": the names of a flag as they are typed, and what follows them.
std::string flag_names(const CLI::Option& option);

}  // namespace duet
