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
  // The subcommand; its flags are bound to this object.
  explicit Command(CLI::App* app) : app_(app) {}
  virtual ~Command() = default;
  CLI::App& app() { return *app_; }
  // Returns the exit code; throws UsageError. `line` is argv, for the journal.
  virtual int run(const std::vector<std::string>& line) = 0;

 protected:
  // Adds a flag whose value must not be empty.
  void add(const std::string& flag, std::string& value, const char* type, const char* text) {
    app_->add_option(flag, value, text)->type_name(type)->check(not_empty());
  }

  CLI::App* const app_;
};

#define DUET_COMMAND(name) std::unique_ptr<Command> make_##name##_command(CLI::App& root);
#include "cli/list.h"
#undef DUET_COMMAND

#define DUET_DEFINE_COMMAND(name, Type)                            \
  std::unique_ptr<Command> make_##name##_command(CLI::App& root) { \
    return std::make_unique<Type>(root);                           \
  }

}  // namespace duet
