#include "layers/operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "core/error.h"
#include "core/names.h"
#include "device/collective_kernel.h"

namespace duet {
namespace {

constexpr NamedValue<LayerKind> kKinds[] = {
    {LayerKind::gather_gemm, "gather-gemm"}, {LayerKind::gemm_scatter, "gemm-scatter"},
    {LayerKind::gemm_reduce, "gemm-reduce"}, {LayerKind::gemm_reduce_norm, "gemm-reduce-norm"},
    {LayerKind::reduce_norm, "reduce-norm"}, {LayerKind::wgrad_scatter, "wgrad-scatter"}};

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

bool multiplies(LayerKind kind) { return kind != LayerKind::reduce_norm; }
bool scatters(LayerKind kind) {
  return kind == LayerKind::gemm_scatter || kind == LayerKind::wgrad_scatter;
}
bool normalises(LayerKind kind) {
  return kind == LayerKind::gemm_reduce_norm || kind == LayerKind::reduce_norm;
}

std::string_view name(LayerKind kind) { return name_of(kKinds, kind); }
std::vector<LayerKind> all_layer_kinds() { return values_in(kKinds); }
LayerKind parse_layer_kind(std::string_view text) {
  for (const auto& kind : kKinds) {
    if (text == kind.name) return kind.value;
  }
  throw UsageError(
      fmt::format("unknown layer '{}': expected {}", text, fmt::join(layer_kinds(), ", ")));
}

std::vector<std::string> layer_models() {
  std::vector<std::string> names;
  for (const LayerModel& model : kModels) names.emplace_back(model.name);
  return names;
}

std::vector<std::string> layer_kinds() {
  std::vector<std::string> names;
  for (const auto& kind : kKinds) names.emplace_back(kind.name);
  names.insert(names.end(), {kMlp, kAttention});
  return names;
}

std::vector<Layer> layers_of(std::string_view model, std::int64_t tokens,
                             const std::vector<std::string>& kinds, DType dtype) {
  const LayerModel& of = model_of(model);
  const auto operation = [&](LayerKind kind, const char* part, std::int64_t n, std::int64_t k) {
    return LayerOperation{kind, fmt::format("{} {}", model, part), tokens, n, k, dtype};
  };
  const LayerOperation qkv = operation(LayerKind::gather_gemm, "qkv", of.qkv, of.width);
  const LayerOperation up = operation(LayerKind::gather_gemm, "gate+up", 2 * of.ffn, of.width);
  std::vector<Layer> all;
  for (const std::string& kind : kinds) {
    const bool whole = kind == kMlp || kind == kAttention;
    const LayerKind summed = whole ? LayerKind::gemm_scatter : parse_layer_kind(kind);
    const LayerOperation o = operation(summed, "o", of.width, of.attended);
    const LayerOperation down = operation(summed, "down", of.width, of.ffn);
    if (kind == kMlp) {
      all.push_back({kind, std::string(model), {up, down}, true});
    } else if (kind == kAttention) {
      all.push_back({kind, std::string(model), {qkv, o}});
    } else if (summed == LayerKind::wgrad_scatter) {
      for (const LayerOperation* each : {&qkv, &o, &up, &down}) {
        const LayerOperation gradient{summed, each->part, each->n, each->k, tokens, dtype};
        all.push_back({kind, gradient.part, {gradient}});
      }
    } else if (!multiplies(summed)) {
      const LayerOperation reduced = operation(summed, "width", of.width, 0);
      all.push_back({kind, reduced.part, {reduced}});
    } else {
      const bool gathers = summed == LayerKind::gather_gemm;
      for (const LayerOperation& each : gathers ? std::array{qkv, up} : std::array{o, down})
        all.push_back({kind, each.part, {each}});
    }
  }
  return all;
}

Layer layer_of(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& kind,
               DType dtype) {
  const std::string part = fmt::format("{}x{}x{}", m, n, k);
  if (kind == kAttention) {
    throw UsageError(fmt::format("attention of {}: expected a model, which has its heads", part));
  }
  if (kind != kMlp) {
    const LayerKind one = parse_layer_kind(kind);
    if (!multiplies(one) && k != 1)
      throw UsageError(fmt::format("{} of {}: expected K 1, as nothing is multiplied", kind, part));
    return {kind, part, {{one, part, m, n, multiplies(one) ? k : 0, dtype}}};
  }
  return {kind,
          part,
          {{LayerKind::gather_gemm, part, m, n, k, dtype},
           {LayerKind::gemm_scatter, part, m, k, n / 2, dtype}},
          true};
}

void check(const Layer& layer, int ranks) {
  const auto require = [&](const char* what, std::int64_t count, std::int64_t unit) {
    if (count > 0 && count % unit == 0) return;
    throw UsageError(fmt::format("{} {}: {} {}: expected a multiple of {}, by {} ranks", layer.kind,
                                 layer.part, what, count, unit, ranks));
  };
  for (const LayerOperation& each : layer.operations) {
    const bool gathers = each.kind == LayerKind::gather_gemm;
    const bool parts = gathers || scatters(each.kind);
    require("rows", each.m, parts ? ranks : 1);
    const GemmProblem problem = problem_of(each, ranks);
    if (multiplies(each.kind)) {
      const int halves = gathers && layer.activates ? 2 : 1;
      require(gathers ? "N" : "K", gathers ? each.n : each.k, ranks * halves);
      // Matrices begin at rows of others.
      const std::int64_t row =
          each.kind == LayerKind::wgrad_scatter ? problem.m / ranks : problem.k;
      require("bytes of a row of X", row * static_cast<std::int64_t>(size_of(problem.dtype)), 16);
    }
    require("bytes of a row of Y", problem.n * static_cast<std::int64_t>(size_of(problem.output)),
            16);
    if (!normalises(each.kind)) continue;
    if (can_normalise(problem.output, static_cast<std::size_t>(each.n))) continue;
    throw UsageError(
        fmt::format("{} {}: rows of {} {}: expected at most {} bytes, which a block normalises",
                    layer.kind, layer.part, each.n, name(problem.output), kMostNormRow));
  }
}

GemmProblem problem_of(const LayerOperation& operation, int ranks) {
  GemmProblem problem{operation.m, operation.n, operation.k, operation.dtype};
  problem.output = default_output(operation.dtype);
  problem.layout = operation.kind == LayerKind::wgrad_scatter ? Layout::tn : Layout::nt;
  (operation.kind == LayerKind::gather_gemm ? problem.n : problem.k) /= ranks;
  return problem;
}

Collective collective_of(const LayerOperation& operation, int ranks, int ranges, RowSums sums,
                         int streams, bool joined) {
  const bool gathers = operation.kind == LayerKind::gather_gemm;
  const auto columns = static_cast<std::uint64_t>(gathers ? operation.k : operation.n);
  const auto rows = static_cast<std::uint64_t>(operation.m);
  Collective c;
  c.dtype = default_output(operation.dtype);
  if (gathers) c.dtype = size_of(operation.dtype) == 1 ? DType::int8 : operation.dtype;
  const bool parts = scatters(operation.kind);
  c.kind = gathers ? CollectiveKind::all_gather
           : parts ? CollectiveKind::reduce_scatter
                   : CollectiveKind::all_reduce;
  c.count = columns * (gathers || parts ? rows / static_cast<std::uint64_t>(ranks) : rows);
  c.rows = {columns, ranges, sums, streams, gathers && joined};
  return c;
}

}  // namespace duet
