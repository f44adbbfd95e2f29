#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/turns_command.h"
#include "core/error.h"
#include "replay/cases.h"
#include "replay/replay_step.h"
#include "replay/trace_reader.h"

namespace duet {
namespace {

constexpr int kMostCallsOfTrace = 1000000000;

std::string text_of_trace(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored))
    throw UsageError(fmt::format("{} cannot be read: expected a file with a trace", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

class ReplayCommand : public TurnsCommand {
 public:
  explicit ReplayCommand(CLI::App& root)
      : TurnsCommand(root.add_subcommand(
            "replay",
            "Run the GEMMs and collectives of a recorded training or inference step by each "
            "engine, and tell what the step would gain")) {
    app_->add_option("traces", files_,
                     "Traces of a rank: of PyTorch's profiler (JSON, with record_shapes=True), "
                     "PyTorch's execution trace (JSON), or lines of NCCL Inspector; the form is "
                     "recognised from the contents")
        ->type_name("TRACE...");
    add_machine_flags();
    add("--engine", engines_, "LIST",
        "Engines of collectives; default: all that the devices have, but nccl-duet, beside which "
        "others cannot map memory");
    add("--gemm", gemm_, "ENGINE", "The engine that multiplies; default: the first that can");
    add("--step", step_, "NUMBER",
        "The step that is replayed, where the trace marks steps (ProfilerStep#NUMBER), or all; "
        "default: the last one");
    add("--from", from_, "CALL", "The first of the step's calls that is replayed, from 1");
    add("--to", to_, "CALL", "The last one");
    add("--parts", parts_, "LIST",
        "What is measured: gemms and collectives (each distinct one alone), step; default all");
    add_call_flags();
    add_run_flags();
    offer(*app_, "--engine",
          {"dma", "kernel", "auto", "host", "nccl", "nccl-zero-cta", "rccl", "vendor-model"});
    offer(*app_, "--parts", {"gemms", "collectives", "step"});
  }

  int run(const std::vector<std::string>& line) override {
    return measure_by_turns(line, [this](Processes* processes) {
      ReplayOptions options = parsed();
      options.processes = processes;
      if (lists() && (processes == nullptr || processes->index() == 0)) show(options);
      return [options](Machine& machine, const std::string& name) mutable {
        options.device_name = name;
        return replay_benchmarks(machine, options, interrupted);
      };
    });
  }

 private:
  ReplayOptions parsed() const {
    if (files_.empty()) throw UsageError("replay: expected traces of a step");
    ReplayOptions options;
    if (!engines_.empty()) options.engines = split(engines_, ',');
    options.gemm = gemm_;
    if (!parts_.empty()) options.parts = parsed_parts();
    const RecordedPart part = recorded_part();
    for (const std::string& file : files_) {
      std::filesystem::path stem = std::filesystem::path(file).stem();
      if (stem.extension() == ".json") stem = stem.stem();  // of .json.gz
      const std::string name = stem.string();
      for (const ReplayTrace& other : options.traces) {
        if (other.name == name)
          throw UsageError(fmt::format("{}: expected another name than {}'s", file, name));
      }
      options.traces.push_back({name, part_of_file(file, part)});
    }
    set(options);
    return options;
  }

  static RecordedTrace part_of_file(const std::string& file, const RecordedPart& part) {
    RecordedTrace trace = read_trace(file, text_of_trace(file));
    try {
      return part_of(std::move(trace), part);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: {}", file, error.what()));
    }
  }

  RecordedPart recorded_part() const {
    RecordedPart part;
    part.all_steps = step_ == "all";
    if (!step_.empty() && !part.all_steps)
      part.step = parse_number(step_, 0, "--step", kMostCallsOfTrace);
    if (!from_.empty()) part.from = parse_number(from_, 1, "--from", kMostCallsOfTrace);
    if (!to_.empty()) part.to = parse_number(to_, 1, "--to", kMostCallsOfTrace);
    return part;
  }

  ReplayParts parsed_parts() const {
    ReplayParts parts{false, false, false};
    for (const std::string& word : split(parts_, ',')) {
      if (word == "gemms") {
        parts.gemms = true;
      } else if (word == "collectives") {
        parts.collectives = true;
      } else if (word == "step") {
        parts.step = true;
      } else {
        throw UsageError(
            fmt::format("--parts: unknown '{}': expected gemms, collectives or step", word));
      }
    }
    return parts;
  }

  void show(const ReplayOptions& options) const {
    for (std::size_t i = 0; i < files_.size(); ++i)
      std::cout << found_text(files_[i], options.traces[i].recorded);
  }

  std::vector<std::string> files_;
  std::string engines_, gemm_, step_, from_, to_, parts_;
};

}  // namespace

DUET_DEFINE_COMMAND(replay, ReplayCommand)

}  // namespace duet
