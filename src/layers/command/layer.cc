#include <fmt/format.h>

#include <algorithm>

#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/turns_command.h"
#include "core/error.h"
#include "gemm/shapes.h"
#include "layers/cases.h"

namespace duet {
namespace {

// For CPUs, where a model's layers would take minutes.
constexpr const char* kShapeOfCpus = "512x512x512";

RowSums parse_row_sums(const std::string& text) {
  for (const RowSums sums : {RowSums::by_compute, RowSums::in_slots}) {
    if (text == name(sums)) return sums;
  }
  throw UsageError(fmt::format("--sums: unknown '{}': expected by-compute or in-slots", text));
}

bool parse_joined(const std::string& text) {
  if (text == "no" || text == "yes") return text == "yes";
  throw UsageError(fmt::format("--joined: unknown '{}': expected no or yes", text));
}

DType parse_layer_dtype(const std::string& text, const std::vector<std::string>& kinds) {
  const DType dtype = parse_dtype(text);
  const bool has_mlp = std::find(kinds.begin(), kinds.end(), kMlp) != kinds.end();
  const bool activates = dtype == DType::bf16 || dtype == DType::fp32 || dtype == DType::fp8_e4m3;
  if (has_mlp && !activates) {
    throw UsageError(
        fmt::format("--dtype {}: expected bf16, fp32 or fp8_e4m3, which mlp activates", text));
  }
  if (activates || dtype == DType::fp16) return dtype;
  throw UsageError(fmt::format("--dtype {}: expected bf16, fp16, fp32 or fp8_e4m3", text));
}

class LayerCommand : public TurnsCommand {
 public:
  explicit LayerCommand(CLI::App& root)
      : TurnsCommand(
            root.add_subcommand("layer",
                                "Measure multiplications of tensor-parallel layers together with "
                                "the collective that they wait for, or that waits for them")) {
    app_->add_option(
            "layers", kinds_,
            "gather-gemm, gemm-scatter, gemm-reduce, gemm-reduce-norm (behind it a residual is "
            "added and RMSNorm follows), reduce-norm (the same without a multiplication), "
            "wgrad-scatter (weights' gradients of data-parallel ranks, summed to a part each), "
            "mlp (the first two with SwiGLU between), attention (qkv and o, without attention "
            "itself), a list of them, or all; default gather-gemm,gemm-scatter")
        ->type_name("LIST")
        ->check(not_empty());
    add_machine_flags();
    add("--model", models_, "LIST",
        "Models whose linears are multiplied: llama70b, llama405b, qwen3-8b, qwen3-32b; default "
        "llama70b, on CPUs a small shape");
    add("--tokens", tokens_, "LIST", "Rows of all ranks together; default 512,2048,4096,8192");
    add("--shapes", shapes_, "LIST",
        "Instead of models, shapes MxNxK of all ranks together: a gather's N and a sum's K are "
        "divided by the ranks; of reduce-norm K is 1, "
        "of wgrad-scatter MxN is the weight and K the tokens");
    add("--dtype", dtypes_, "LIST", "bf16, fp16, fp32, fp8_e4m3; default bf16, on CPUs fp32");
    add("--engine", engines_, "LIST",
        "none (the multiplication alone), pieces (by rows, as they come and go), auto (the fastest "
        "in a short trial), and collective engines, which run before or behind the multiplication; "
        "default none, the vendor's library or, without it, kernel, pieces, auto");
    add("--ranges", ranges_, "LIST",
        "pieces: in how many ranges each rank's rows are sent; default 1,2");
    add("--sums", sums_, "LIST",
        "pieces, where results are summed: by-compute (each multiplication adds to what has come), "
        "in-slots (a kernel adds behind the last one); default both");
    add("--streams", streams_, "LIST",
        "pieces: on how many streams the ranges are multiplied, 1 or 2; default both");
    add("--joined", joined_, "LIST",
        "pieces, gathers in one range by four ranks or more: yes multiplies a rank's own rows, "
        "then "
        "those of two ranks at once, then those of all others at once, no each rank's alone; "
        "default "
        "both");
    add("--gemm", gemm_, "ENGINE", "The engine that multiplies; default: the first that can");
    add_call_flags();
    add_energy_flags(*app_, energy_,
                     "Also measure the energy of a call, where the device reports it, with many "
                     "more calls");
    add_run_flags();
    offer(*app_, "layers", [] { return and_also(layer_kinds(), "all"); });
    offer(*app_, "--model", layer_models);
    offer(*app_, "--dtype", {"bf16", "fp16", "fp32", "fp8_e4m3"});
    offer(*app_, "--engine",
          {"none", "pieces", "auto", "nccl", "rccl", "dma", "kernel", "vendor-model"});
    offer(*app_, "--sums", {"by-compute", "in-slots"});
    offer(*app_, "--joined", {"no", "yes"});
  }

  int run(const std::vector<std::string>& line) override {
    return measure_by_turns(line, [this](Processes* processes) {
      LayerOptions options = parsed();
      options.processes = processes;
      return [this, options](Machine& machine, const std::string& name) mutable {
        options.device_name = name;
        options.layers = layers(machine.device(0).info());
        return std::vector{layer_benchmark(machine, options, interrupted)};
      };
    });
  }

 private:
  LayerOptions parsed() const {
    LayerOptions options;
    if (!engines_.empty()) options.engines = split(engines_, ',');
    const bool has_pieces =
        engines_.empty() ||
        std::any_of(options.engines.begin(), options.engines.end(), [](const std::string& engine) {
          return engine == kPieces || engine == kFastest;
        });
    if (!has_pieces) {
      refuse_given({{"--ranges", !ranges_.empty()},
                    {"--sums", !sums_.empty()},
                    {"--streams", !streams_.empty()},
                    {"--joined", !joined_.empty()}},
                   "expected the engine pieces or auto as well");
    }
    if (!ranges_.empty()) {
      options.ranges = parse_list(
          ranges_, [](const std::string& word) { return parse_number(word, 1, "--ranges", 64); });
    }
    if (!streams_.empty()) {
      options.streams = parse_list(
          streams_, [](const std::string& word) { return parse_number(word, 1, "--streams", 2); });
    }
    if (!sums_.empty()) options.sums = parse_list(sums_, parse_row_sums);
    if (!joined_.empty()) options.joined = parse_list(joined_, parse_joined);
    options.gemm = gemm_;
    options.energy_seconds = energy_seconds_of(energy_);
    set(options);
    return options;
  }

  // `shaped`: all leaves out attention, which only models have, and reduce-norm, which has no K.
  std::vector<std::string> kinds(bool shaped) const {
    if (kinds_.empty()) return {"gather-gemm", "gemm-scatter"};
    if (kinds_ != "all") return split(kinds_, ',');
    std::vector<std::string> all = layer_kinds();
    const auto has_no_shape = [&](const std::string& kind) {
      return kind == kAttention || kind == name(LayerKind::reduce_norm);
    };
    if (shaped) all.erase(std::remove_if(all.begin(), all.end(), has_no_shape), all.end());
    return all;
  }

  std::vector<Layer> layers(const DeviceInfo& info) const {
    if (!shapes_.empty()) {
      refuse_given({{"--model", !models_.empty()}, {"--tokens", !tokens_.empty()}},
                   "expected without --shapes, which have their own");
    }
    const bool small = info.is_cpu && models_.empty() && tokens_.empty() && shapes_.empty();
    const std::string shapes = small ? kShapeOfCpus : shapes_;
    std::vector<Layer> all;
    for (const std::string& type : split(dtypes_.empty() ? default_dtype(info) : dtypes_, ',')) {
      const DType dtype = parse_layer_dtype(type, kinds(!shapes.empty()));
      const std::vector<Layer> some = shapes.empty() ? of_models(dtype) : of_shapes(shapes, dtype);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  static std::string default_dtype(const DeviceInfo& info) { return info.is_cpu ? "fp32" : "bf16"; }

  std::vector<Layer> of_shapes(const std::string& shapes, DType dtype) const {
    std::vector<Layer> all;
    for (const GemmShape& shape : parse_shapes(shapes)) {
      for (const std::string& kind : kinds(true))
        all.push_back(layer_of(shape.m, shape.n, shape.k, kind, dtype));
    }
    return all;
  }

  std::vector<Layer> of_models(DType dtype) const {
    std::vector<Layer> all;
    for (const std::string& model : split(models_.empty() ? "llama70b" : models_, ',')) {
      for (const std::string& tokens :
           split(tokens_.empty() ? "512,2048,4096,8192" : tokens_, ',')) {
        const auto some =
            layers_of(model, parse_number(tokens, 1, "--tokens"), kinds(false), dtype);
        all.insert(all.end(), some.begin(), some.end());
      }
    }
    return all;
  }

  EnergyFlags energy_;
  std::string kinds_, models_, tokens_, shapes_, dtypes_, engines_, ranges_, sums_, streams_,
      joined_, gemm_;
};

}  // namespace

DUET_DEFINE_COMMAND(layer, LayerCommand)

}  // namespace duet
