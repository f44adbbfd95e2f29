// `duet completion` prints a shell's script, and `duet complete` answers it.
#include <iostream>

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/flag_values.h"

namespace duet {
namespace {

class CompletionCommand : public Command {
 public:
  explicit CompletionCommand(CLI::App& root)
      : Command(root.add_subcommand(
            "completion", "Print a script for a shell that completes duet's commands and flags")) {
    app_->add_option(
            "shell", shell_,
            "bash (source <(duet completion bash)), zsh (source <(duet completion zsh)) or "
            "fish (duet completion fish | source)")
        ->required()
        ->type_name("");
    offer(*app_, "shell", {"bash", "zsh", "fish"});
  }

  int run(const std::vector<std::string>&) override {
    std::cout << completion_script(shell_);
    return 0;
  }

 private:
  std::string shell_;
};

class CompleteCommand : public Command {
 public:
  explicit CompleteCommand(CLI::App& root)
      : Command(root.add_subcommand("complete", "Print what may stand next")), root_(root) {
    app_->group("");  // hidden
    app_->add_option("words", words_,
                     "Behind --: the words so far, the last of which is completed");
  }

  int run(const std::vector<std::string>&) override {
    const Completion completion = complete(root_, words_);
    std::cout << (completion.files ? "files\n" : "words\n");
    for (const Candidate& each : completion.candidates) {
      std::cout << each.word << '\t' << each.description << '\n';
    }
    return 0;
  }

 private:
  CLI::App& root_;
  std::vector<std::string> words_;
};

}  // namespace

DUET_DEFINE_COMMAND(completion, CompletionCommand)

DUET_DEFINE_COMMAND(complete, CompleteCommand)

}  // namespace duet
