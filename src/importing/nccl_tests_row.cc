#include "importing/nccl_tests_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "collectives/collective.h"
#include "collectives/cost.h"
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
  if (run.groups > 1) axes.set("groups", std::int64_t{run.groups});
  if (run.graph_launches > 0) axes.set("graph_launches", std::int64_t{run.graph_launches});
  if (run.cpu_time) axes.set("clock", std::string("cpu"));
  return axes;
}

// Below as many digits a time is rounded more than the rates.
constexpr int kFewDigits = 3;

struct Interval {
  double low = 0, high = std::numeric_limits<double>::infinity();
};

Interval common(const Interval& a, const Interval& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

Interval interval_of(const Printed& printed, double unit) {
  return {std::max(0.0, printed.value - printed.half_unit) * unit,
          (printed.value + printed.half_unit) * unit};
}

// The seconds in which a rate that was rounded moves `bytes`.
Interval seconds_of(double bytes, const Printed& gb_per_s) {
  const Interval rate = interval_of(gb_per_s, 1e9);
  Interval seconds;
  if (rate.high > 0) seconds.low = bytes / rate.high;
  if (rate.low > 0) seconds.high = bytes / rate.low;
  return seconds;
}

[[noreturn]] void refuse_rate(const NcclTestsRun& run, const NcclTestsFigure& figure,
                              double bus_bytes) {
  throw UsageError(fmt::format(
      "busbw is {:.4g} GB/s by the size, the time of {:g} us and {} ranks, but the output says "
      "{:g}: expected the same",
      bus_bytes / figure.microseconds.value / 1e3, figure.microseconds.value, run.ranks,
      figure.busbw->value));
}

// The time as printed, unless rates are printed with more digits.
double seconds_of(const NcclTestsRun& run, const NcclTestsFigure& figure, const Cost& cost) {
  constexpr double kSlack = 1e-9;  // of the arithmetic here and there
  const double printed = figure.microseconds.value * 1e-6;
  const double bus_bytes = cost.more.value(kBusBytes);
  if (run.cpu_time || !figure.busbw || bus_bytes == 0) return printed;
  const Interval timed = interval_of(figure.microseconds, 1e-6);
  const Interval both = common(timed, seconds_of(bus_bytes, *figure.busbw));
  if (both.low > both.high * (1 + kSlack)) refuse_rate(run, figure, bus_bytes);
  if (figure.microseconds.digits >= kFewDigits || figure.busbw->digits == 0) return printed;
  Interval all = both;
  if (figure.algbw) all = common(all, seconds_of(cost.more.value(kAlgorithmBytes), *figure.algbw));
  if (all.low > all.high) all = both;
  return (all.low + all.high) / 2;
}

// The rates of a run with -C are not those of the time that it prints, which is the CPU's.
void take_rates_as_notes(ForeignCase& one, const NcclTestsFigure& figure) {
  one.cost = {};
  if (figure.algbw)
    one.notes.emplace_back("algbw_gb_per_s", fmt::format("{:g}", figure.algbw->value));
  if (figure.busbw)
    one.notes.emplace_back("busbw_gb_per_s", fmt::format("{:g}", figure.busbw->value));
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
  const auto bytes = static_cast<double>(figure.bytes);
  if (bytes > 0) {
    one.cost.more = {{kAlgorithmBytes, bytes},
                     {kBusBytes, bytes * factor_of(run.collective, run.ranks)}};
  }
  one.seconds = seconds_of(run, figure, one.cost);
  if (figure.wrong) {
    one.verified = *figure.wrong == 0;
    one.wrong = fmt::format("{:g} elements are wrong", *figure.wrong);
  }
  one.warm_ups = run.warm_ups;
  one.notes = {{"count", figure.count}};
  if (!run.iterations.empty()) one.notes.emplace_back("mean_of_calls", run.iterations);
  if (run.cpu_time) take_rates_as_notes(one, figure);
  return one;
}

void NcclTestsSizes::add(const NcclTestsFigure& figure) {
  const std::string combination =
      figure.root < 0 ? fmt::format("{} {}", figure.type, figure.op)
                      : fmt::format("{} {} from root {}", figure.type, figure.op, figure.root);
  ++rows_[combination];
}

void NcclTestsSizes::check(std::optional<std::int64_t> expected) const {
  for (const auto& [combination, rows] : rows_) {
    const auto& [first, first_rows] = *rows_.begin();
    if (expected && rows < *expected) {
      throw UsageError(fmt::format("the table of {} has {} of {} sizes: expected all of them",
                                   combination, rows, *expected));
    }
    if (rows == first_rows) continue;
    throw UsageError(fmt::format("the table has {} sizes of {} and {} of {}: expected as many",
                                 first_rows, first, rows, combination));
  }
}

std::string nccl_version_text(std::int64_t code) {
  if (code <= 0) return "";
  const std::int64_t major = code >= 20000 ? 10000 : 1000;  // of NCCL 2.9 and later, and earlier
  return fmt::format("{}.{}.{}", code / major, code % major / 100, code % 100);
}

}  // namespace duet
