// `duet run`: runs a suite on the machines that it names.
#include <fmt/format.h>

#include <iostream>
#include <map>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/measure.h"
#include "core/error.h"
#include "core/names.h"
#include "run/suites.h"

namespace duet {
namespace {

std::string kind_of(const std::string& device) { return device.substr(0, device.find(':')); }

// The machines of a plan by their names in the suite; each is opened once.
class Opened {
 public:
  explicit Opened(RunPlan& plan) : plan_(plan) {}

  // nullptr if the machine cannot be opened and the entry allows that.
  Machine* find(const std::string& device, bool if_there) {
    const auto found = by_name_.find(device);
    if (found != by_name_.end()) return found->second;
    Machine*& machine = by_name_[device];
    try {
      plan_.machines.push_back(open_machine(device));
      machine = plan_.machines.back().get();
    } catch (const UsageError&) {
      if (!if_there) throw;
    }
    return machine;
  }

 private:
  RunPlan& plan_;
  std::map<std::string, Machine*> by_name_;
};

class RunCommand : public Command {
 public:
  explicit RunCommand(CLI::App& root)
      : Command(
            root.add_subcommand("run", "Run a suite of benchmarks; without a name, list them")) {
    app_->add_option("suite", suite_, "Name of the suite");
    add_device_flags(*app_, devices_,
                     "all devices of the suite that this machine has; given devices replace "
                     "those of the suite of the same kind, and the others are left out");
    add_output_flags(*app_, output_);
    offer(*app_, "suite", [] { return own_names(suites()); });
  }

  int run(const std::vector<std::string>& line) override {
    require_one_process("run");
    if (suite_.empty() && line.size() > 2) {
      throw UsageError("run: expected a suite before its flags: " + known_suites());
    }
    if (suite_.empty()) {
      for (const Suite& suite : suites()) {
        std::cout << fmt::format("{:<8}{}\n", suite.name, suite.description);
      }
      return 0;
    }
    RunPlan plan;
    plan.suite = true;
    Opened opened(plan);
    for (const SuiteEntry& entry : chosen(find_suite(suite_))) {
      Machine* machine = opened.find(entry.device, entry.if_there);
      if (machine != nullptr) add_entry(plan, *machine, entry, interrupted);
    }
    return measure(plan, output_, line);
  }

 private:
  std::vector<SuiteEntry> chosen(const Suite& suite) const {
    const std::vector<std::string> devices = device_names(devices_);
    const std::vector<SuiteEntry> all = entries_of(suite);
    if (devices.empty()) return all;
    std::vector<SuiteEntry> entries;
    for (const std::string& device : devices) {
      const std::size_t before = entries.size();
      std::string first;  // entries of one kind for several machines: only the first machine's run
      for (SuiteEntry entry : all) {
        if (kind_of(entry.device) != kind_of(device)) continue;
        // Entries that need several devices of a CPU ("host:2") always run.
        const bool split = entry.device.rfind("host:", 0) == 0;
        if (first.empty()) first = entry.device;
        if (entry.device != first && !split) continue;
        if (!split || device != "host") entry.device = device;
        entry.if_there = false;
        entries.push_back(entry);
      }
      if (entries.size() > before) continue;
      throw UsageError(fmt::format(
          "--device {}{}: suite {} has nothing for it: expected host, cuda, hip or sim", device,
          did_you_mean(kind_of(device), {"host", "cuda", "hip", "sim"}), suite.name));
    }
    return entries;
  }

  std::string suite_;
  DeviceFlags devices_;
  OutputFlags output_;
};

}  // namespace

DUET_DEFINE_COMMAND(run, RunCommand)

}  // namespace duet
