#include <algorithm>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/measure.h"
#include "core/error.h"
#include "gemm/cases.h"
#include "gemm/command/grouped_flags.h"
#include "gemm/shapes.h"
#include "gemm/tuning.h"

namespace duet {
namespace {

constexpr const char* kDefaultShapes = "seed,llama";
constexpr const char* kDefaultShapesOfCpus = "quick";  // the others take minutes there

std::vector<DType> gemm_dtypes() {
  std::vector<DType> types;
  for (const DType type : all_dtypes()) {
    if (type != DType::int32) types.push_back(type);
  }
  return types;
}

class GemmCommand : public Command {
 public:
  explicit GemmCommand(CLI::App& root)
      : Command(root.add_subcommand(
            "gemm", "Measure matrix multiplications with each library that the device has")) {
    add_device_flags(*app_, devices_, "host");
    add("--shapes", shapes_, "LIST", "Shapes as MxNxK, such as 4096x4096x512,8192x8192x8192");
    add("--set", sets_, "LIST",
        "Sets of shapes: seed (read as M,N,K), llama (the same read as M,K,N), squares, c3, quick; "
        "default seed,llama, on CPUs quick");
    add("--dtype", dtypes_, "LIST",
        "fp32, tf32, fp16, bf16, fp8_e4m3, int8; default bf16, fp32 on CPUs that lack it");
    add("--engine", engines_, "LIST", "Engines by name; default: all that the device has");
    app_->add_flag("--accumulate", accumulate_, "Add the product to C, as gradients are summed");
    add("--epilogue", epilogue_, "NAME",
        "Applied to the product: none; gelu (the product is stored as well); gelu_backward (times "
        "GELU's derivative at a third matrix); default none");
    add("--layout", layouts_, "LIST",
        "Memory layouts: nn (A and B as they are, as in torch.matmul), nt (B transposed, as in "
        "F.linear), tn (A transposed, as in the gradient of a weight); default nn");
    add("--tuning-cache", tuning_cache_, "FILE",
        "Store the choices of the tuned engines in FILE and use them in later runs; default: in "
        "memory only");
    app_->add_option("--tuning-seconds", tuning_seconds_, "Approximate time to tune one problem")
        ->type_name("S")
        ->check(seconds_above_0("--tuning-seconds"))
        ->capture_default_str();
    app_->add_flag("--search", search_, "Also search for the shape with the highest rate");
    app_->add_flag("--each-device", each_device_,
                   "Measure each device of a machine separately; default: the first device only");
    add_grouped_flags(*app_, grouped_);
    add_mode_flags(*app_, mode_);
    add_output_flags(*app_, output_);
    offer(*app_, "--dtype", [] { return names_of(gemm_dtypes()); });
    offer(*app_, "--set", shape_set_names);
    offer(*app_, "--engine",
          {"onednn",          "openblas",       "fma-peak",         "cublas",
           "cublaslt",        "cublaslt-tuned", "rocblas",          "hipblaslt",
           "hipblaslt-tuned", "model",          "loop-onednn",      "loop-openblas",
           "loop-cublas",     "loop-cublaslt",  "streams-cublaslt", "loop-cublaslt-tuned",
           "cublas-grouped",  "loop-rocblas",   "loop-hipblaslt",   "loop-model",
           "model-grouped",   kDenseEngine});
    offer(*app_, "--layout", {"nn", "nt", "tn"});
    offer(*app_, "--epilogue", {"none", "gelu", "gelu_backward"});
  }

  int run(const std::vector<std::string>& line) override {
    require_one_process("gemm");
    require_flags_that_fit();
    const GemmOptions options = parsed();
    set_tuning_cache(tuning_cache_);
    RunPlan plan;
    plan.machines = open_machines(devices_, "host");
    for (const auto& machine : plan.machines) {
      const std::vector<std::string> engines = engines_for(*machine, plan.machines.size() > 1);
      if (engines.empty() && !engines_.empty()) continue;
      add_job(plan, *machine, benchmark_on(*machine, options, engines));
    }
    output_.other_files = {{"--tuning-cache", tuning_cache_}};
    return measure(plan, output_, line);
  }

 private:
  void require_flags_that_fit() const {
    if (!grouped_.grouped) return require_no_groups(grouped_);
    refuse_given({{"--set", !sets_.empty()},
                  {"--search", search_},
                  {"--accumulate", accumulate_},
                  {"--epilogue", !epilogue_.empty()}},
                 "expected without --grouped");
  }

  Benchmark benchmark_on(Machine& machine, GemmOptions options,
                         const std::vector<std::string>& engines) const {
    options.device_name = machine.name();
    if (dtypes_.empty()) options.dtypes = {default_gemm_dtype(machine)};
    options.engines = engines;
    if (grouped_.grouped) {
      return grouped_gemm_benchmark(machine, grouped_options(options, machine), interrupted);
    }
    options.shapes = shapes_for(machine);
    return gemm_benchmark(machine, options, interrupted);
  }

  GroupedGemmOptions grouped_options(const GemmOptions& single, Machine& machine) const {
    GroupedGemmOptions options;
    options.shapes = grouped_shapes(grouped_, shapes_, machine.device(0).info().is_cpu);
    options.routings = routings_of(grouped_);
    options.dtypes = single.dtypes;
    options.engines = single.engines;
    options.layouts = single.layouts;
    if (std::find(options.layouts.begin(), options.layouts.end(), Layout::tn) !=
        options.layouts.end()) {
      throw UsageError("--layout tn: expected nn or nt with --grouped");
    }
    options.mode = single.mode;
    options.tuning_seconds = single.tuning_seconds;
    options.each_device = single.each_device;
    options.device_name = single.device_name;
    return options;
  }

  GemmOptions parsed() const {
    GemmOptions options;
    if (!dtypes_.empty()) options.dtypes = parse_list(dtypes_, parse_dtype);
    options.accumulate = accumulate_;
    if (!epilogue_.empty()) options.epilogue = parse_epilogue(epilogue_);
    if (accumulate_ && options.epilogue != Epilogue::none) {
      throw UsageError("--epilogue: expected without --accumulate");
    }
    if (!layouts_.empty()) options.layouts = parse_list(layouts_, parse_layout);
    options.search = search_;
    options.each_device = each_device_;
    options.mode = mode_of(mode_);
    options.tuning_seconds = tuning_seconds_;
    return options;
  }

  // The engines of --engine. With several machines, each takes those that it supports.
  std::vector<std::string> engines_for(Machine& machine, bool several) const {
    if (engines_.empty()) return {};
    std::vector<std::string> asked = split(engines_, ',');
    if (!several) return asked;
    const DeviceInfo& info = machine.device(0).info();
    const std::vector<std::string> known =
        grouped_.grouped ? grouped_engine_names(info) : gemm_engine_names(info);
    const auto foreign = [&](const std::string& engine) {
      return std::find(known.begin(), known.end(), engine) == known.end();
    };
    asked.erase(std::remove_if(asked.begin(), asked.end(), foreign), asked.end());
    return asked;
  }

  std::vector<GemmShape> shapes_for(Machine& machine) const {
    std::string list = sets_;
    if (!shapes_.empty()) list += (list.empty() ? "" : ",") + shapes_;
    if (!list.empty()) return parse_shapes(list);
    if (search_) return {};
    const bool cpu = machine.device(0).info().is_cpu;
    return parse_shapes(cpu ? kDefaultShapesOfCpus : kDefaultShapes);
  }

  DeviceFlags devices_;
  GroupedFlags grouped_;
  ModeFlags mode_;
  OutputFlags output_;
  std::string shapes_, sets_, dtypes_, engines_, layouts_, epilogue_, tuning_cache_;
  double tuning_seconds_ = GemmOptions{}.tuning_seconds;
  bool accumulate_ = false;
  bool search_ = false;
  bool each_device_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(gemm, GemmCommand)

}  // namespace duet
