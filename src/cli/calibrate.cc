// `duet calibrate`: makes a simulated platform from journals of a real machine.
#include <fmt/format.h>

#include <iostream>
#include <optional>

#include "calibration/calibration.h"
#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/standard_output.h"
#include "core/error.h"
#include "core/output_file.h"
#include "device/sim/platform_text.h"
#include "results/journal.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

class CalibrateCommand : public Command {
 public:
  explicit CalibrateCommand(CLI::App& root)
      : Command(root.add_subcommand("calibrate",
                                    "Compute a simulated platform from journals of duet overlap "
                                    "--isolated, copy, collective and overlap --energy")) {
    app_->add_option("JOURNALS", journals_, "Journals measured on the machine")
        ->required()
        ->check(not_empty());
    add("--base", base_, "NAME",
        "Platform for all figures that the journals do not give: a name or a file; default: the "
        "built-in one of the same devices");
    add("--out", out_, "FILE", "Platform file to write, a new TOML file; -: standard output");
  }

  int run(const std::vector<std::string>&) override {
    require_one_process("calibrate");
    Evidence evidence;
    for (const std::string& path : journals_) {
      const JournalContents contents = load_journal(path);
      for (const std::string& warning : contents.warnings) complain(warning);
      add_evidence(evidence, path, contents.runs);
    }
    const BasePlatform base = base_.empty() ? built_in_of(evidence) : BasePlatform{base_, {}};
    sim::PlatformText text(sim::platform_toml(base.name, base.options));
    const auto figures = calibrate(sim::load_platform(base.name, base.options), evidence);
    if (figures.empty()) {
      throw UsageError(
          "calibrate: the journals have nothing to calibrate from: expected those of duet overlap "
          "--isolated, copy, collective or overlap --energy");
    }
    std::optional<OutputFile> file;
    if (!out_.empty()) file.emplace(OutputFile::create(out_, "give the name of a new file"));
    const bool on_stdout = names_standard_output(out_);
    show_and_set(text, figures, on_stdout ? std::cerr : std::cout);
    try {
      sim::parse_platform(base.name, text.text());
    } catch (const UsageError&) {  // the figures of the journals fit no machine
      if (file) file->discard();
      throw;
    }
    if (file) {
      file->write(text.text());
      if (on_stdout) return 0;
      std::cout << fmt::format("\n{} written: duet predict JOURNAL --device sim:{}\n", out_, out_);
    }
    return 0;
  }

 private:
  struct BasePlatform {
    std::string name;
    sim::PlatformOptions options;
  };

  // The platform with the same device model and number of devices.
  static BasePlatform built_in_of(const Evidence& evidence) {
    for (const auto& [name, toml] : sim::built_in_platforms()) {
      const sim::Platform platform = sim::load_platform(name);
      if (platform.device.model != evidence.model) continue;
      if (platform.devices == evidence.devices) return {name, {}};
      const bool one_node = platform.nodes == 1 && evidence.devices > 0;
      if (one_node && evidence.devices <= platform.most_devices) {
        return {name, {evidence.devices}};
      }
    }
    throw UsageError(fmt::format("calibrate: no platform of {} x {} is built in: expected --base",
                                 evidence.devices, evidence.model));
  }

  static void show_and_set(sim::PlatformText& text, const std::vector<CalibratedFigure>& figures,
                           std::ostream& out) {
    std::vector<std::vector<std::string>> rows;
    for (const CalibratedFigure& each : figures) {
      rows.push_back({each.key, fmt::format("{:.4g}", text.value(each.key)),
                      fmt::format("{:.4g}", each.value), each.from});
      text.set(each.key, each.value, "calibrated: " + each.from);
    }
    out << table({{"figure"}, {"base", Align::right}, {"now", Align::right}, {"from"}}, rows, "  ");
  }

  std::vector<std::string> journals_;
  std::string base_, out_;
};

}  // namespace

DUET_DEFINE_COMMAND(calibrate, CalibrateCommand)

}  // namespace duet
