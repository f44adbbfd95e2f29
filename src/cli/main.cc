// The program `duet`. Commands turn flags into benchmarks on machines (cli/). The runner runs their
// cases one by one (run/). Each case becomes a record, which writers store and show (results/).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <new>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/help.h"
#include "cli/standard_output.h"
#include "core/error.h"
#include "core/suggestion.h"
#include "core/terminal.h"
#include "core/thread.h"
#include "results/version.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
int bad_usage(const std::string& message) {
  duet::complain(message);
  return kBadUsage;
}

// "info, gemm, copy": the commands that --help lists.
std::vector<std::string> command_names(const CLI::App& root) {
  std::vector<std::string> names;
  for (const CLI::App* each : duet::shown_commands(root)) names.push_back(each->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& word : duet::flag_words(*option)) flags.push_back(word);
  }
  return flags;
}

// A message about the arguments that `app` does not know, "" if there are none.
std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining();
  const auto is_flag = [](const std::string& word) { return word.size() > 1 && word[0] == '-'; };
  const auto flag = std::find_if(left.begin(), left.end(), is_flag);
  if (flag != left.end()) {
    const std::string name = flag->substr(0, flag->find('='));
    return fmt::format("unknown flag '{}'{}", name, duet::did_you_mean(name, flags_of(app)));
  }
  return left.empty() ? "" : fmt::format("unexpected word '{}'", left.front());
}

// Writes the error of a command line without a known command; returns the exit code.
int no_command(const CLI::App& root) {
  const std::vector<std::string> names = command_names(root);
  std::string what = unexpected(root);
  const std::vector<std::string> left = root.remaining();
  if (!left.empty() && left.front()[0] != '-') {
    what = fmt::format("unknown command '{}'{}", left.front(),
                       duet::did_you_mean(left.front(), names));
  }
  return bad_usage(fmt::format("{}{}expected a command, one of {} (see duet --help)", what,
                               what.empty() ? "" : ": ", fmt::join(names, ", ")));
}

int run(int argc, char** argv) {
  CLI::App root(
      "Measures how fast GPUs compute, how fast they communicate, and how much of both remains "
      "when they do both at once.",
      "duet");
  root.require_subcommand(0, 1);
  root.set_help_flag("-h,--help", "Show this help");
  root.formatter(std::make_shared<duet::HelpFormatter>());  // CLI11 requires a shared_ptr
  std::vector<std::unique_ptr<duet::Command>> commands;
  for (const auto make :
       {duet::make_info_command,       duet::make_gemm_command,     duet::make_copy_command,
        duet::make_collective_command, duet::make_halo_command,     duet::make_fabric_command,
        duet::make_overlap_command,    duet::make_train_command,    duet::make_advise_command,
        duet::make_calibrate_command,  duet::make_predict_command,  duet::make_run_command,
        duet::make_health_command,     duet::make_report_command,   duet::make_compare_command,
        duet::make_import_command,     duet::make_history_command,  duet::make_nccl_env_command,
        duet::make_completion_command, duet::make_complete_command, duet::make_docs_command}) {
    commands.push_back(make(root));
  }
  const std::string version = fmt::format("duet {} ({})", duet::version(), duet::revision());
  root.set_version_flag("-V,--version", version, "Show version and git revision");
  for (const auto& command : commands) {
    command->app().set_version_flag("-V,--version", version, "Show version and git revision");
  }
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);  // --help, --version
    const auto chosen = root.get_subcommands();
    if (chosen.empty()) return no_command(root);
    const std::string extra = unexpected(*chosen[0]);
    return bad_usage(fmt::format("{} (see duet {} --help)", extra.empty() ? error.what() : extra,
                                 chosen[0]->get_name()));
  }
  for (const auto& command : commands) {
    if (command->app().parsed()) return command->run({argv, argv + argc});
  }
  return no_command(root);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a write to a closed pipe is then an error, not a signal
  duet::StandardOutput output;
  const duet::PlainStream plain_output(std::cout), plain_errors(std::cerr);
  try {
    const int code = run(argc, argv);
    output.finish();
    return code;
  } catch (const duet::UsageError& error) {
    output.drop();
    return bad_usage(error.what());
  } catch (const std::bad_alloc&) {
    output.drop();
    std::cerr << "duet: out of memory (" << duet::limits_text() << ")\n";
    return kFailed;
  } catch (const std::exception& error) {
    output.drop();
    duet::complain(error.what());
    return kFailed;
  }
}
