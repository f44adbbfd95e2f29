#include "layers/operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<LayerKind> kKinds[] = {{LayerKind::gather_gemm, "gather-gemm"},
                                            {LayerKind::gemm_scatter, "gemm-scatter"},
                                            {LayerKind::gemm_reduce, "gemm-reduce"}};

// N and K of a layer's linears, from each model's published configuration: `width` its hidden size,
// `qkv` the columns of q, k and v, `attended` those of all heads, `ffn` those of gate or up.
struct LayerModel {
  std::string_view name;
  std::int64_t width, qkv, attended, ffn;
};
constexpr std::array<LayerModel, 4> kModels = {{{"llama70b", 8192, 10240, 8192, 28672},
                                                {"llama405b", 16384, 18432, 16384, 53248},
                                                {"qwen3-8b", 4096, 6144, 4096, 12288},
                                                {"qwen3-32b", 5120, 10240, 8192, 25600}}};

const LayerModel& model_of(std::string_view text) {
  for (const LayerModel& model : kModels) {
    if (model.name == text) return model;
  }
  throw UsageError(
      fmt::format("unknown model '{}': expected {}", text, fmt::join(layer_models(), ", ")));
}

}  // namespace

std::string_view name(LayerKind kind) { return name_of(kKinds, kind); }
std::vector<LayerKind> all_layer_kinds() { return values_in(kKinds); }
LayerKind parse_layer_kind(std::string_view text) {
  return parse_name(kKinds, "unknown operation", text);
}

std::vector<std::string> layer_models() {
  std::vector<std::string> names;
  for (const LayerModel& model : kModels) names.emplace_back(model.name);
  return names;
}

std::vector<LayerOperation> operations_of(std::string_view model, std::int64_t tokens,
                                          const std::vector<LayerKind>& kinds) {
  const LayerModel& of = model_of(model);
  std::vector<LayerOperation> all;
  for (const LayerKind kind : kinds) {
    const auto add = [&](std::string_view part, std::int64_t n, std::int64_t k) {
      all.push_back({kind, fmt::format("{} {}", model, part), tokens, n, k});
    };
    if (kind == LayerKind::gather_gemm) {
      add("qkv", of.qkv, of.width);
      add("gate+up", 2 * of.ffn, of.width);
    } else {
      add("o", of.width, of.attended);
      add("down", of.width, of.ffn);
    }
  }
  return all;
}

void check(const LayerOperation& operation, int ranks) {
  const bool gathers = operation.kind == LayerKind::gather_gemm;
  const auto require = [&](const char* what, std::int64_t count) {
    if (count > 0 && count % ranks == 0) return;
    throw UsageError(fmt::format("{} {}: {} {}: expected a multiple of the {} ranks",
                                 name(operation.kind), operation.part, what, count, ranks));
  };
  if (operation.kind != LayerKind::gemm_reduce) require("rows", operation.m);
  require(gathers ? "N" : "K", gathers ? operation.n : operation.k);
}

GemmProblem problem_of(const LayerOperation& operation, int ranks) {
  GemmProblem problem{operation.m, operation.n, operation.k, operation.dtype};
  problem.output = default_output(operation.dtype);
  problem.layout = Layout::nt;
  (operation.kind == LayerKind::gather_gemm ? problem.n : problem.k) /= ranks;
  return problem;
}

Collective collective_of(const LayerOperation& operation, int ranks, int ranges, RowSums sums) {
  const bool gathers = operation.kind == LayerKind::gather_gemm;
  const auto columns = static_cast<std::uint64_t>(gathers ? operation.k : operation.n);
  const auto rows = static_cast<std::uint64_t>(operation.m);
  Collective c;
  c.dtype = default_output(operation.dtype);
  if (gathers) c.dtype = size_of(operation.dtype) == 1 ? DType::int8 : operation.dtype;
  c.kind = operation.kind == LayerKind::gemm_reduce ? CollectiveKind::all_reduce
           : gathers                                ? CollectiveKind::all_gather
                                                    : CollectiveKind::reduce_scatter;
  const bool whole = operation.kind == LayerKind::gemm_reduce;
  c.count = columns * (whole ? rows : rows / static_cast<std::uint64_t>(ranks));
  c.rows = {columns, ranges, sums};
  return c;
}

}  // namespace duet
