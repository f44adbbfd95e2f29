#include "calibration/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "core/error.h"
#include "timing/statistics.h"

namespace duet {
namespace {

constexpr double kGiga = 1e9, kMicro = 1e-6, kMiB = 1024.0 * 1024.0;
// From this share of a limit on, a figure does not depend on the number of units.
constexpr double kSaturated = 0.9;
// GEMMs are slower by (units lost)^exponent. Below this exponent the clock has risen on the fewer
// units: the power cap limited it on all units.
constexpr double kThrottled = 0.85;
constexpr std::uint64_t kLarge = 256u << 20;  // from this size on, times are linear in bytes
constexpr std::uint64_t kSmall = 1u << 20;    // up to this size, times are latency

double median(std::vector<double> values) { return summarise(values).median; }

double three_digits(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10, 2 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

class Calibration {
 public:
  Calibration(const sim::Platform& base, const Evidence& evidence)
      : base_(base), evidence_(evidence) {}

  std::vector<CalibratedFigure> all() {
    add_gemm();
    add_power();
    add_links();
    add_memory();
    add_library();
    return std::move(figures_);
  }

 private:
  void add(const std::string& key, double value, const std::string& from) {
    figures_.push_back({key, three_digits(value), from});
  }

  // The share of the peak at which whole waves of tiles take the measured time.
  double efficiency(const GemmTime& gemm) const {
    const sim::GemmModel& model = base_.device.gemm;
    const double m = static_cast<double>(gemm.problem.m), n = static_cast<double>(gemm.problem.n);
    const double tiles = std::ceil(m / model.tile_m) * std::ceil(n / model.tile_n);
    const double waves = std::ceil(tiles / base_.device.compute_units);
    const double tile_flop =
        2.0 * model.tile_m * model.tile_n * static_cast<double>(gemm.problem.k);
    const double unit_peak = base_.device.peak.at(gemm.problem.dtype) / base_.device.compute_units;
    const double seconds =
        (gemm.seconds - base_.device.kernel.launch) / waves - model.workgroup_seconds;
    return tile_flop / unit_peak / seconds;
  }

  void add_gemm() {
    std::map<DType, std::vector<double>> found;
    for (const GemmTime& each : evidence_.gemms) {
      if (each.units != 0 || base_.device.peak.count(each.problem.dtype) == 0) continue;
      const double share = efficiency(each);
      if (share > 0 && share < 1) found[each.problem.dtype].push_back(share);
    }
    for (const auto& [dtype, shares] : found) {
      add(fmt::format("device.gemm.efficiency.{}", name(dtype)), median(shares),
          fmt::format("{} GEMMs on all units", shares.size()));
    }
  }

  // How the time of GEMMs grows as units are lost: the exponent e of (1 / share of the units)^e. It
  // is 1 if the clock stays the same.
  std::optional<double> loss_exponent() const {
    std::map<std::string, double> whole;
    for (const GemmTime& each : evidence_.gemms) {
      if (each.units == 0) whole[name(each.problem)] = each.seconds;
    }
    std::vector<double> exponents;
    for (const GemmTime& each : evidence_.gemms) {
      const auto found = whole.find(name(each.problem));
      if (each.units == 0 || found == whole.end()) continue;
      const double share = static_cast<double>(each.units) / base_.device.compute_units;
      if (share > kSaturated) continue;  // here whole waves decide more than units
      exponents.push_back(std::log(each.seconds / found->second) / std::log(1 / share));
    }
    if (exponents.empty()) return std::nullopt;
    return median(exponents);
  }

  void add_power() {
    if (evidence_.dma_joules > 0) {
      add("device.power.dma_joules_per_gb", kGiga * evidence_.dma_joules, "energy of transfers");
    }
    if (evidence_.kernel_joules > 0) {
      add("device.power.kernel_joules_per_gb", kGiga * evidence_.kernel_joules,
          "energy of transfers");
    }
    if (evidence_.cap_watts > 0 && evidence_.idle_watts > 0) {
      add("device.power.watts", evidence_.cap_watts - evidence_.idle_watts,
          fmt::format("a cap of {:.0f} W less {:.0f} W of an idle device", evidence_.cap_watts,
                      evidence_.idle_watts));
    }
    const std::optional<double> exponent = loss_exponent();
    std::vector<double> clocks;
    for (const GemmTime& each : evidence_.gemms) {
      if (each.units == 0 && each.megahertz > 0) clocks.push_back(each.megahertz);
    }
    if (!exponent || clocks.empty() || evidence_.full_megahertz <= 0) return;
    const bool throttled = *exponent < kThrottled;
    add("device.power.gemm_frequency",
        throttled ? std::min(1.0, median(clocks) / evidence_.full_megahertz) : 1,
        fmt::format("time goes with the {:.2f}th power of the units lost, {:.0f} MHz of {:.0f}",
                    *exponent, median(clocks), evidence_.full_megahertz));
  }

  double best_copy(const std::string& kind, const std::string& executor,
                   const std::string& issue) const {
    double best = 0;
    for (const CopyTime& each : evidence_.copies) {
      if (each.kind != kind || each.executor != executor) continue;
      if (!issue.empty() && each.issue != issue) continue;
      best = std::max(best, static_cast<double>(each.bytes) / each.seconds);
    }
    return best;
  }

  void add_links() {
    for (const std::string executor : {"dma", "kernel"}) {
      for (const std::string issue : {"push", "pull"}) {
        const double rate = best_copy("peer", executor, issue);
        if (rate <= 0) continue;
        add(fmt::format("link.{}_{}_gb_per_s", executor, issue),
            std::min(rate, base_.link.raw_rate) / kGiga, "the best copy between two devices");
        if (executor == "dma" && issue == "push") {
          add("device.dma.engine_gb_per_s", rate / kGiga, "the same");
        }
      }
    }
  }

  void add_memory() {
    const double rate = 2 * best_copy("local", "kernel", "");  // read and written
    if (rate <= 0) return;
    add("device.memory_efficiency", std::min(1.0, rate / base_.device.memory_rate),
        "the best copy within a device");
  }

  // The rate of a kernel that pushes over a link: the measured one, else the base's.
  double link_rate() const {
    const double found = best_copy("peer", "kernel", "push");
    return found > 0 ? found : base_.link.kernel_push_rate;
  }

  double wire_bytes(const CollectiveTime& each) const {
    return static_cast<double>(each.bytes) * bus_factor(each.kind, each.ranks);
  }

  // Whether the measurement is of the library, or of its model, in a collective that calibrates it.
  bool by_library(const CollectiveTime& each) const {
    const bool known =
        each.kind == CollectiveKind::all_gather || each.kind == CollectiveKind::all_to_all;
    return known &&
           (each.engine == "nccl" || each.engine == "rccl" || each.engine == "vendor-model");
  }

  struct Line {
    double offset = 0;  // seconds
    double rate = 0;    // bytes a second
  };

  // The line through the library's times over bytes, for large calls on all units, weighted by
  // 1 / time^2. nullopt if there are not two different sizes or time does not grow with bytes.
  std::optional<Line> library_line() const {
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    int count = 0;
    for (const CollectiveTime& each : evidence_.collectives) {
      if (!by_library(each) || each.units != 0 || each.bytes < kLarge) continue;
      const double weight = 1 / (each.seconds * each.seconds), x = wire_bytes(each);
      w += weight;
      wx += weight * x;
      wy += weight * each.seconds;
      wxx += weight * x * x;
      wxy += weight * x * each.seconds;
      ++count;
    }
    const double spread = w * wxx - wx * wx;
    if (count < 2 || spread <= 0) return std::nullopt;
    const double slope = (w * wxy - wx * wy) / spread;
    if (slope <= 0) return std::nullopt;
    return Line{(wy - slope * wx) / w, 1 / slope};
  }

  // Bytes that units copy for each byte that leaves the rank; a copied byte is one byte read and
  // one written. An all-gather reads a part once and writes it to every rank, its own included. An
  // all-to-all reads and writes every part.
  double copied(const CollectiveTime& each) const {
    const double n = each.ranks;
    return each.kind == CollectiveKind::all_gather ? (1 + n) / 2 / (n - 1) : n / (n - 1);
  }

  // The rate of one unit, from calls on so few units that they stay below the limit (bytes per
  // second).
  void add_units(double limit) {
    std::map<std::string, std::vector<double>> found;
    for (const CollectiveTime& each : evidence_.collectives) {
      if (!by_library(each) || each.units == 0 || each.bytes < kLarge) continue;
      const double rate = wire_bytes(each) / each.seconds;
      if (rate > kSaturated * limit) continue;
      found[std::string(name(each.kind))].push_back(rate * copied(each) / each.units);
    }
    for (const auto& [kind, rates] : found) {
      add(fmt::format("library.{}.unit_copy_gb_per_s", kind), median(rates) / kGiga,
          fmt::format("{} grants that were too few", rates.size()));
    }
  }

  // A small call takes a launch, a barrier before and one after the transfer (a link's latency
  // each), a link's latency and the transfer itself. The rest is the library's own latency.
  void add_latency() {
    std::vector<double> found;
    for (const CollectiveTime& each : evidence_.collectives) {
      if (!by_library(each) || each.units != 0 || each.bytes > kSmall) continue;
      const double moving = 2 * wire_bytes(each) / (base_.library.link_share * link_rate());
      found.push_back(each.seconds - base_.device.kernel.launch - 3 * base_.link.latency - moving);
    }
    if (found.empty()) return;
    const double least = *std::min_element(found.begin(), found.end());
    if (least > 0) add("library.latency_us", least / kMicro, "its smallest call");
  }

  void add_library() {
    add_latency();
    const std::optional<Line> line = library_line();
    if (!line) return;
    add("library.link_share", std::min(1.0, line->rate / link_rate()),
        "the line through its times over bytes");
    const double ramp = line->offset * line->rate / kMiB;
    add("library.ramp_mib", std::max(0.0, ramp), "where that line begins");
    add_units(line->rate);
  }

  const sim::Platform& base_;
  const Evidence& evidence_;
  std::vector<CalibratedFigure> figures_;
};

}  // namespace

std::vector<CalibratedFigure> calibrate(const sim::Platform& base, const Evidence& evidence) {
  if (evidence.devices != base.devices || evidence.compute_units != base.device.compute_units) {
    throw UsageError(fmt::format(
        "calibrate: expected a base of {} devices with {} compute units, as the journals': {} has "
        "{} with {}",
        evidence.devices, evidence.compute_units, base.name, base.devices,
        base.device.compute_units));
  }
  return Calibration(base, evidence).all();
}

}  // namespace duet
