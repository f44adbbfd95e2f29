#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/flags.h"

namespace duet {

// A subcommand of `duet` with its flags.
class Command {
 public:
  virtual ~Command() = default;
  // The subcommand; its flags are bound to this object.
  virtual CLI::App& app() = 0;
  // Returns the exit code; throws UsageError. `line` is argv, for the journal.
  virtual int run(const std::vector<std::string>& line) = 0;

 protected:
  // Adds a flag whose value must not be empty. app() must exist.
  void add(const std::string& flag, std::string& value, const char* type, const char* text) {
    app().add_option(flag, value, text)->type_name(type)->check(not_empty());
  }
};

// A workload's command is in its folder, in command/; the others are in src/cli/NAME.cc.
#define DUET_WORKLOAD(name) std::unique_ptr<Command> make_##name##_command(CLI::App& root);
#include "workload/list.h"
#undef DUET_WORKLOAD
std::unique_ptr<Command> make_info_command(CLI::App& root);
std::unique_ptr<Command> make_advise_command(CLI::App& root);
std::unique_ptr<Command> make_calibrate_command(CLI::App& root);
std::unique_ptr<Command> make_predict_command(CLI::App& root);
std::unique_ptr<Command> make_reproduce_command(CLI::App& root);
std::unique_ptr<Command> make_run_command(CLI::App& root);
std::unique_ptr<Command> make_health_command(CLI::App& root);
std::unique_ptr<Command> make_report_command(CLI::App& root);
std::unique_ptr<Command> make_compare_command(CLI::App& root);
std::unique_ptr<Command> make_import_command(CLI::App& root);
std::unique_ptr<Command> make_history_command(CLI::App& root);
std::unique_ptr<Command> make_nccl_env_command(CLI::App& root);
std::unique_ptr<Command> make_completion_command(CLI::App& root);
// Hidden: answers the scripts of `duet completion`.
std::unique_ptr<Command> make_complete_command(CLI::App& root);
// Hidden: prints docs/cli.md, the manual page or docs/journal.schema.json.
std::unique_ptr<Command> make_docs_command(CLI::App& root);

}  // namespace duet
