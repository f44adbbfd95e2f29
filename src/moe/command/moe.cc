#include <fmt/format.h>

#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/turns_command.h"
#include "core/error.h"
#include "gemm/expert_models.h"
#include "moe/cases.h"

namespace duet {
namespace {

constexpr int kMostTokens = 1 << 20, kMostColumns = 1 << 16, kMostExperts = 4096;
constexpr int kMostRoutings = 64, kMostShared = 64;

// For CPUs, where a model's experts would take minutes.
MoeShape small_shape() {
  MoeShape shape;
  shape.part = "own";
  shape.hidden = shape.width = 128;
  shape.experts = 16;
  shape.chosen = 4;
  return shape;
}

class MoeCommand : public TurnsCommand {
 public:
  explicit MoeCommand(CLI::App& root)
      : TurnsCommand(root.add_subcommand(
            "moe",
            "Measure layers of a mixture of experts: tokens' rows go to the ranks of their experts "
            "(dispatch), are multiplied, and come back (combine)")) {
    add_machine_flags();
    add("--model", models_, "LIST",
        "Models whose layers are measured: deepseek-v3, qwen3-30b, qwen3-235b, mixtral, gpt-oss; "
        "default deepseek-v3, on CPUs a small shape");
    add("--tokens", tokens_, "LIST", "Tokens of each rank; default 128,4096,8192, on CPUs 256");
    add("--hidden", hidden_, "COUNT", "Instead of a model: elements of a token's row");
    add("--width", width_, "COUNT", "Instead of a model: elements of an expert's hidden row");
    add("--experts", experts_, "COUNT",
        "Of all ranks together, which divide them; default the model's");
    add("--top-k", chosen_, "COUNT", "How many experts a token chooses; default the model's");
    add("--shared-experts", shared_, "COUNT",
        "Experts that multiply every token, on its own rank, as one of their width together; "
        "default 0");
    add("--capacity", capacities_, "LIST",
        "none, or a factor F: of each rank's tokens an expert takes the first F * tokens * top-k / "
        "experts, rounded up, and the others are dropped and counted; default none");
    add("--dtype", dtypes_, "LIST", "bf16, fp32; default bf16, on CPUs fp32");
    add("--pass", passes_, "LIST",
        "forward, or train: a backward pass too, with the gradients of rows, of weights of choices "
        "and of the experts' weights; default forward");
    add("--dispatch-dtype", dispatched_, "LIST",
        "Of the rows that go to experts: same (as --dtype), fp8 (E4M3 with a scale of each 128 "
        "elements); they come back as --dtype; default same");
    add("--routing", routings_, "LIST",
        "How likely experts are: uniform, zipf:S (proportional to 1/i^S), hot:N (one expert N "
        "times as likely as each other), file:PATH (of each token a line with its experts); "
        "default uniform");
    add("--routings", in_turn_, "COUNT",
        "How many routings calls take in turns, so that caches do not know them; default 3");
    add("--engine", engines_, "LIST",
        "none (the experts alone, with their rows there), auto (the fastest in a short trial), and "
        "collective engines; default none, the vendor's library or, without it, kernel, dma, "
        "kernel");
    add("--exchange", exchanges_, "LIST",
        "What moves: all-gather (all rows to all ranks, partial sums back by reduce_scatter), "
        "per-rank (a row once to each rank with one of its experts, one partial sum back), "
        "per-expert (a row to each of its experts, and as many back), per-node (of several nodes: "
        "a row once to each node with one of its experts, and within it per-rank); default all");
    add("--counts", counts_, "LIST",
        "How ranks know how many rows come, but for all-gather: known (as where a routing is used "
        "again), host (exchanged in every call; each host waits for them before it enqueues the "
        "rows); default known");
    add("--overlap", overlaps_, "LIST",
        "What runs beside dispatch and combine: none, beside (shared experts, gradients of "
        "weights), halves (likewise, and one half of the tokens is multiplied beside the exchanges "
        "of the other); default none");
    add_call_flags();
    add_run_flags();
    offer(*app_, "--model", [] {
      std::vector<std::string> names;
      for (const ExpertModel& each : expert_models()) names.push_back(each.name);
      return names;
    });
    offer(*app_, "--capacity", {"none", "1", "1.25"});
    offer(*app_, "--dtype", {"bf16", "fp32"});
    offer(*app_, "--pass", {"forward", "train"});
    offer(*app_, "--dispatch-dtype", {"same", "fp8"});
    offer(*app_, "--routing", {"uniform", "zipf:1", "hot:16", "file:"});
    offer(*app_, "--engine", {"none", "auto", "nccl", "rccl", "dma", "kernel", "vendor-model"});
    offer(*app_, "--exchange", {"all-gather", "per-rank", "per-expert", "per-node"});
    offer(*app_, "--counts", {"known", "host"});
    offer(*app_, "--overlap", {"none", "beside", "halves"});
  }

  int run(const std::vector<std::string>& line) override {
    return measure_by_turns(line, [this](Processes* processes) {
      MoeOptions options = parsed();
      options.processes = processes;
      return [this, options](Machine& machine, const std::string& name) mutable {
        options.device_name = name;
        options.shapes = shapes(machine.device(0).info().is_cpu);
        return std::vector{moe_benchmark(machine, options, interrupted)};
      };
    });
  }

 private:
  MoeOptions parsed() const {
    MoeOptions options;
    if (!engines_.empty()) options.engines = split(engines_, ',');
    if (!exchanges_.empty()) options.exchanges = parse_list(exchanges_, parse_exchange);
    if (!counts_.empty()) options.counts = parse_list(counts_, parse_moe_counts);
    if (!overlaps_.empty()) options.overlaps = parse_list(overlaps_, parse_moe_overlap);
    if (!routings_.empty()) options.routings = parse_list(routings_, parse_token_routing);
    if (!in_turn_.empty())
      options.routings_in_turn = parse_number(in_turn_, 1, "--routings", kMostRoutings);
    set(options);
    return options;
  }

  std::vector<MoeShape> models(bool is_cpu) const {
    if (hidden_.empty() && width_.empty()) {
      if (models_.empty() && is_cpu) return {small_shape()};
      std::vector<MoeShape> shapes;
      for (const std::string& each : split(models_.empty() ? "deepseek-v3" : models_, ','))
        shapes.push_back(moe_shape_of(each));
      return shapes;
    }
    refuse_given({{"--model", !models_.empty()}}, "expected without --hidden and --width");
    for (const std::string* each : {&hidden_, &width_, &experts_, &chosen_}) {
      if (each->empty())
        throw UsageError("expected all of --hidden, --width, --experts and --top-k, or a --model");
    }
    MoeShape own;
    own.part = "own";
    return {own};
  }

  std::vector<MoeShape> shapes(bool is_cpu) const {
    std::vector<MoeShape> all;
    const std::string dtypes = !dtypes_.empty() ? dtypes_ : is_cpu ? "fp32" : "bf16";
    const std::string tokens = !tokens_.empty() ? tokens_ : is_cpu ? "256" : "128,4096,8192";
    for (MoeShape shape : models(is_cpu)) {
      const auto set = [](std::int64_t& value, const std::string& text, const char* flag,
                          int most) {
        if (!text.empty()) value = parse_number(text, 1, flag, most);
      };
      set(shape.hidden, hidden_, "--hidden", kMostColumns);
      set(shape.width, width_, "--width", kMostColumns);
      set(shape.experts, experts_, "--experts", kMostExperts);
      set(shape.chosen, chosen_, "--top-k", kMostExperts);
      set(shape.shared, shared_, "--shared-experts", kMostShared);
      for (const std::string& dtype : split(dtypes, ',')) {
        shape.dtype = parse_dtype(dtype);
        if (shape.dtype != DType::bf16 && shape.dtype != DType::fp32)
          throw UsageError(fmt::format("--dtype {}: expected bf16 or fp32", dtype));
        for (const std::string& count : split(tokens, ',')) {
          set(shape.tokens, count, "--tokens", kMostTokens);
          add_variants(shape, all);
        }
      }
    }
    return all;
  }

  // Of each capacity, type of rows and pass.
  void add_variants(MoeShape shape, std::vector<MoeShape>& all) const {
    for (const std::string& factor : split(capacities_.empty() ? "none" : capacities_, ',')) {
      shape.capacity_factor = factor == "none" ? 0 : parse_positive(factor, "--capacity");
      for (const std::string& rows : split(dispatched_.empty() ? "same" : dispatched_, ',')) {
        if (rows != "same" && rows != "fp8")
          throw UsageError(fmt::format("--dispatch-dtype {}: expected same or fp8", rows));
        shape.fp8_rows = rows == "fp8";
        for (const std::string& pass : split(passes_.empty() ? "forward" : passes_, ',')) {
          if (pass != "forward" && pass != "train")
            throw UsageError(fmt::format("--pass {}: expected forward or train", pass));
          shape.trains = pass == "train";
          all.push_back(shape);
        }
      }
    }
  }

  std::string dispatched_, passes_, models_, tokens_, capacities_, hidden_, width_, experts_,
      chosen_, dtypes_, routings_, in_turn_, engines_, exchanges_, overlaps_, counts_, shared_;
};

}  // namespace

DUET_DEFINE_COMMAND(moe, MoeCommand)

}  // namespace duet
