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
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/standard_output.h"
#include "core/error.h"
#include "core/names.h"
#include "core/terminal.h"
#include "core/thread.h"
#include "results/version.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr int kReaderGone = 128 + SIGPIPE;  // as a shell says of a program that the signal ends

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

// The flag before the word, if that takes no value; "": another argument stands there.
std::string flag_before(const std::string& word, const std::vector<std::string>& line,
                        const CLI::App& app) {
  const auto at = std::find(line.begin(), line.end(), word);
  if (at == line.begin() || at == line.end()) return "";
  const CLI::Option* flag = app.get_option_no_throw(*std::prev(at));
  return flag != nullptr && flag->get_items_expected_max() == 0 ? *std::prev(at) : "";
}

// A message about the arguments that `app` does not know, "" if there are none.
std::string unexpected(const CLI::App& app, const std::vector<std::string>& line) {
  const std::vector<std::string> left = app.remaining();
  const auto is_flag = [](const std::string& word) { return word.size() > 1 && word[0] == '-'; };
  const auto found = std::find_if(left.begin(), left.end(), is_flag);
  if (found != left.end()) {
    const std::string name = found->substr(0, found->find('='));
    // Every flag of one letter is near every other.
    const bool one_letter = name[1] != '-';
    return fmt::format("unknown flag '{}'{}", name,
                       one_letter ? "" : duet::did_you_mean(name, flags_of(app)));
  }
  if (left.empty()) return "";
  std::string text = fmt::format("unexpected word '{}'", left.front());
  const std::string flag = flag_before(left.front(), line, app);
  if (!flag.empty()) text += fmt::format(": {} takes no value", flag);
  if (flag == "--check" && app.get_option_no_throw("--ngpus") != nullptr) {
    text += "; nccl-tests' --check is -c";
  }
  return text;
}

// Writes the error of a command line without a known command; returns the exit code.
int no_command(const CLI::App& root, const std::vector<std::string>& line) {
  const std::vector<std::string> names = command_names(root);
  std::string what = unexpected(root, line);
  const std::vector<std::string> left = root.remaining();
  if (!left.empty() && left.front()[0] != '-') {
    const std::string& word = left.front();
    const std::string command = duet::command_with_word(root, word);
    what = fmt::format("unknown command '{}'{}", word,
                       command.empty() ? duet::did_you_mean(word, names)
                                       : fmt::format(" (did you mean '{} {}'?)", command, word));
  }
  return bad_usage(fmt::format("{}{}expected a command, one of {} (see duet --help)", what,
                               what.empty() ? "" : ": ", fmt::join(names, ", ")));
}

// "duet help gemm" is "duet gemm --help", and "duet help" is "duet --help".
std::vector<std::string> without_help_command(std::vector<std::string> words,
                                              const std::vector<std::string>& commands) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  const auto known = [&] {
    return std::find(commands.begin(), commands.end(), words.front()) != commands.end();
  };
  if (words.empty() || known()) words.emplace_back("--help");
  return words;
}

// The message of an error of CLI11 in Duet's words.
std::string words_of(const CLI::App& command, const CLI::ParseError& error) {
  for (const CLI::Option* option : command.get_options()) {
    const auto most = static_cast<std::size_t>(option->get_items_expected_max());
    const bool once = option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
    if (once && most > 0 && option->results().size() > most) {
      return fmt::format("{} is given {} times: expected once", option->get_name(),
                         option->results().size());
    }
  }
  const std::string text = error.what();
  const std::string name = text.substr(0, text.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (text.find("missing") == std::string::npos)
      return name + ": expected another number of values";
    const CLI::Option* option = command.get_option_no_throw(name);
    const std::string value = option != nullptr ? option->get_type_name() : "";
    return fmt::format("{}: expected {}", name, value.empty() ? "a value" : value);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    return text.find('=') == std::string::npos ? name + ": expected no value"
                                               : text + ": expected a number";
  }
  return text;
}

int run(int argc, char** argv) {
  CLI::App root(
      "Measures how fast GPUs compute, how fast they communicate, and how much of both remains "
      "when they do both at once.",
      "duet");
  root.require_subcommand(0, 1);
  root.set_help_flag("-h,--help", "Show this help");
  root.formatter(std::make_shared<duet::HelpFormatter>());  // CLI11 requires a shared_ptr
  const std::vector<std::string> line{argv, argv + argc};
  std::vector<std::unique_ptr<duet::Command>> commands;
#define DUET_COMMAND(name) commands.push_back(duet::make_##name##_command(root));
#include "cli/list.h"
#undef DUET_COMMAND
  const std::string version = fmt::format("duet {} ({})", duet::version(), duet::revision());
  root.set_version_flag("-V,--version", version, "Show version and git revision");
  for (const auto& command : commands) {
    command->app().set_version_flag("-V,--version", version, "Show version and git revision");
  }
  try {
    std::vector<std::string> words =
        without_help_command({line.begin() + 1, line.end()}, command_names(root));
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    root.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);  // --help, --version
    const auto chosen = root.get_subcommands();
    if (chosen.empty()) return no_command(root, line);
    const std::string extra = unexpected(*chosen[0], line);
    return bad_usage(fmt::format("{} (see duet {} --help)",
                                 extra.empty() ? words_of(*chosen[0], error) : extra,
                                 chosen[0]->get_name()));
  }
  for (const auto& command : commands) {
    if (command->app().parsed()) return command->run(line);
  }
  return no_command(root, line);
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
  } catch (const duet::ReaderGone&) {
    output.drop();
    return kReaderGone;
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
