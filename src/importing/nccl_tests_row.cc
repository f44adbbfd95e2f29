#include "importing/nccl_tests_row.h"

#include <fmt/format.h>

#include "collectives/collective.h"
#include "core/error.h"
#include "importing/words.h"

namespace duet {
namespace {

// A program comes before those whose name is a part of its own.
constexpr struct {
  std::string_view program, collective;
} kPrograms[] = {{"all_reduce_perf", "all_reduce"},
                 {"all_gather_perf", "all_gather"},
                 {"alltoallv_perf", ""},
                 {"alltoall_perf", "all_to_all"},
                 {"broadcast_perf", "broadcast"},
                 {"hypercube_perf", ""},
                 {"reduce_scatter_perf", "reduce_scatter"},
                 {"scatter_perf", "scatter"},
                 {"gather_perf", "gather"},
                 {"sendrecv_perf", "send_recv"},
                 {"reduce_perf", "reduce"}};

constexpr struct {
  std::string_view printed, type;
} kTypes[] = {{"float", "fp32"}, {"half", "fp16"}, {"bfloat16", "bf16"}, {"double", "fp64"}};

std::string type_of(const std::string& printed) {
  for (const auto& [theirs, ours] : kTypes) {
    if (printed == theirs) return std::string(ours);
  }
  return printed;
}

// From algorithm bandwidth to bus bandwidth, as nccl-tests has it.
double factor_of(const std::string& collective, int ranks) {
  return collective == "reduce" ? 1 : bus_factor(parse_collective(collective), ranks);
}

Axes axes_of(const NcclTestsRun& run, const NcclTestsFigure& figure) {
  Axes axes = {{"collective", run.collective}, {"type", type_of(figure.type)}};
  if (figure.op != "none" && run.collective != "send_recv") axes.set("op", figure.op);
  if (figure.root >= 0) axes.set("root", figure.root);
  axes.set("bytes", figure.bytes);
  axes.set("in_place", figure.in_place);
  axes.set("ranks", std::int64_t{run.ranks});
  if (run.graph_launches > 0) axes.set("graph_launches", std::int64_t{run.graph_launches});
  if (run.cpu_time) axes.set("clock", std::string("cpu"));
  return axes;
}

}  // namespace

std::string collective_of_program(std::string_view text) {
  for (const auto& [program, collective] : kPrograms) {
    if (!holds(text, program)) continue;
    if (!collective.empty()) return std::string(collective);
    throw UsageError(
        fmt::format("{}: expected a collective that Duet measures, or reduce_perf", program));
  }
  return "";
}

ForeignCase nccl_tests_case(const NcclTestsRun& run, const NcclTestsFigure& figure) {
  if (run.collective.empty()) {
    throw UsageError(
        "the output does not name its collective: expected --collective, or a line with the "
        "program's name, such "
        "as all_reduce_perf");
  }
  if (run.ranks < 1) {
    throw UsageError(
        "the output does not name its ranks: expected lines such as \"#  Rank  0 ... device  0 "
        "[0000:1b:00] MODEL\"");
  }
  ForeignCase one;
  one.benchmark = "collective";
  one.axes = axes_of(run, figure);
  one.seconds = figure.microseconds * 1e-6;
  one.cost.algorithm_bytes = static_cast<double>(figure.bytes);
  one.cost.bus_bytes = one.cost.algorithm_bytes * factor_of(run.collective, run.ranks);
  if (figure.wrong) {
    one.verified = *figure.wrong == 0;
    one.wrong = fmt::format("{:g} elements are wrong", *figure.wrong);
  }
  one.warm_ups = run.warm_ups;
  one.notes = {{"count", figure.count}};
  if (!run.iterations.empty()) one.notes.emplace_back("mean_of_calls", run.iterations);
  return one;
}

std::string nccl_version_text(std::int64_t code) {
  if (code <= 0) return "";
  const std::int64_t major = code >= 20000 ? 10000 : 1000;  // of NCCL 2.9 and later, and earlier
  return fmt::format("{}.{}.{}", code / major, code % major / 100, code % 100);
}

}  // namespace duet
