// `duet docs`: prints docs/cli.md from the definitions of the flags, `duet docs man` the manual
// page, and `duet docs schema` docs/journal.schema.json.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/help.h"
#include "core/error.h"
#include "results/record_json.h"
#include "results/version.h"

namespace duet {
namespace {

constexpr const char* kExitCodes =
    "0 success; 1 nothing was measured, a result was wrong, a case failed, the run was "
    "interrupted, a figure is LOW or SUSPECT-HIGH (--check), a case became worse (compare "
    "--fail-on-regression), or a node is at fault (health); 2 bad usage.";

std::string flag_line(const CLI::Option& option) {
  return fmt::format("- `{}`: {}\n", flag_names(option), option.get_description());
}

bool of_every_command(const CLI::App& app, const CLI::Option* option) {
  return option == app.get_help_ptr() || option == app.get_version_ptr();
}

std::string command_page(const CLI::App& app) {
  std::string text = fmt::format("\n## duet {}\n\n{}\n", app.get_name(), app.get_description());
  for (const std::string& group : app.get_groups()) {
    std::string lines;
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() == group && !of_every_command(app, option))
        lines += flag_line(*option);
    }
    if (group.empty() || lines.empty()) continue;
    text += (group == "Options" ? "" : fmt::format("\n{}:\n", group)) + "\n" + lines;
  }
  return text;
}

void print_markdown(const CLI::App& root) {
  std::cout << "# The command line\n\nWritten by `duet docs > docs/cli.md`; do not edit.\n\n"
            << root.get_description() << "\n\nExit codes: " << kExitCodes << "\n\n"
            << "Flags of `duet` and of every command:\n\n- `-h, --help`: description and flags\n"
            << "- `-V, --version`: version and git revision\n";
  for (const CLI::App* command : shown_commands(root)) std::cout << command_page(*command);
}

// As text of roff, where a dot or an apostrophe at the start of a line begins a request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      if (out.empty() && (c == '.' || c == '\'')) out += "\\&";
      out += c;
    }
  }
  return out;
}

void print_manual(const CLI::App& root) {
  std::cout << ".TH DUET 1 \"\" \"duet " << version() << "\"\n"
            << ".SH NAME\nduet \\- measure compute, communication, and both at once\n"
            << ".SH SYNOPSIS\n.B duet\n.I command\n[\\fIflags\\fR]\n"
            << ".SH DESCRIPTION\n"
            << roff(root.get_description()) << '\n';
  for (const CLI::App* command : shown_commands(root)) {
    std::cout << ".SH DUET " << roff(command->get_name()) << '\n'
              << roff(command->get_description()) << ".\n";
    for (const CLI::Option* option : command->get_options()) {
      if (of_every_command(*command, option)) continue;
      std::cout << ".TP\n.B " << roff(flag_names(*option)) << '\n'
                << roff(option->get_description()) << '\n';
    }
  }
  std::cout << ".SH EXIT STATUS\n" << roff(kExitCodes) << '\n';
}

class DocsCommand : public Command {
 public:
  explicit DocsCommand(CLI::App& root)
      : Command(root.add_subcommand("docs",
                                    "Print docs/cli.md, the manual page or a journal's schema")),
        root_(root) {
    app_->group("");  // hidden
    app_->add_option("form", form_, "markdown, man or schema; default markdown");
  }

  int run(const std::vector<std::string>&) override {
    if (form_ == "markdown") {
      print_markdown(root_);
    } else if (form_ == "man") {
      print_manual(root_);
    } else if (form_ == "schema") {
      std::cout << journal_schema().dump(2) << '\n';
    } else {
      throw UsageError(fmt::format("docs {}: expected markdown, man or schema", form_));
    }
    return 0;
  }

 private:
  CLI::App& root_;
  std::string form_ = "markdown";
};

}  // namespace

DUET_DEFINE_COMMAND(docs, DocsCommand)

}  // namespace duet
