// duet: the command line. Commands turn flags into benchmarks on machines (cli/*.cc); cases run one
// by one (runner); each becomes a record, which the writers store and show (results/). What they
// measure is Work on streams of devices (timing/, device/); nothing here knows which.
#include <fmt/format.h>

#include <csignal>
#include <iostream>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/standard_output.h"
#include "core/error.h"
#include "results/version.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr const char* kNoCommand =
    "expected a command, info, gemm, copy, collective, fabric, overlap, advise, calibrate, "
    "predict, "
    "run, report or compare (see duet --help)";

int bad_usage(const std::string& message) {
  std::cerr << "duet: " << message << '\n';
  return kBadUsage;
}

int run(int argc, char** argv) {
  CLI::App root("Measures how fast GPUs compute and how fast they talk.", "duet");
  root.set_help_flag("-h,--help", "Show this help");
  root.formatter(std::make_shared<duet::HelpFormatter>());  // shared: CLI11 asks for it
  std::vector<std::unique_ptr<duet::Command>> commands;
  for (const auto make :
       {duet::make_info_command, duet::make_gemm_command, duet::make_copy_command,
        duet::make_collective_command, duet::make_fabric_command, duet::make_overlap_command,
        duet::make_advise_command, duet::make_calibrate_command, duet::make_predict_command,
        duet::make_run_command, duet::make_report_command, duet::make_compare_command,
        duet::make_docs_command}) {
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
    if (chosen.empty()) return bad_usage(kNoCommand + std::string(": ") + error.what());
    return bad_usage(fmt::format("{} (see duet {} --help)", error.what(), chosen[0]->get_name()));
  }
  for (const auto& command : commands) {
    if (command->app().parsed()) return command->run({argv, argv + argc});
  }
  return bad_usage(kNoCommand);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of the stream, not the end
  duet::StandardOutput output;
  try {
    const int code = run(argc, argv);
    output.finish();
    return code;
  } catch (const duet::UsageError& error) {
    output.drop();
    return bad_usage(error.what());
  } catch (const std::exception& error) {
    output.drop();
    std::cerr << "duet: " << error.what() << '\n';
    return kFailed;
  }
}
