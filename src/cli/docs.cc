// `duet docs`: prints docs/cli.md from the definitions of the flags.
#include <fmt/format.h>

#include <iostream>

#include "cli/command.h"
#include "cli/help.h"

namespace duet {
namespace {

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

class DocsCommand : public Command {
 public:
  explicit DocsCommand(CLI::App& root)
      : root_(root), app_(root.add_subcommand("docs", "Print docs/cli.md")) {
    app_->group("");  // hidden
  }

  CLI::App& app() override { return *app_; }

  int run(const std::vector<std::string>&) override {
    std::cout
        << "# The command line\n\nWritten by `duet docs > docs/cli.md`; do not edit.\n\n"
        << root_.get_description() << "\n\n"
        << "Exit codes: 0 success; 1 nothing was measured, a result was wrong, a case failed, the "
           "run was interrupted, a figure is LOW or SUSPECT-HIGH (--check), or a case became "
           "worse (compare --fail-on-regression); 2 bad usage.\n\n"
        << "Flags of `duet` and of every command:\n\n- `-h, --help`: description and flags\n"
        << "- `-V, --version`: version and git revision\n";
    for (const CLI::App* command : root_.get_subcommands([](const CLI::App*) { return true; })) {
      if (!command->get_group().empty()) std::cout << command_page(*command);
    }
    return 0;
  }

 private:
  CLI::App& root_;
  CLI::App* app_;
};

}  // namespace

std::unique_ptr<Command> make_docs_command(CLI::App& root) {
  return std::make_unique<DocsCommand>(root);
}

}  // namespace duet
