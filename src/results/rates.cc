#include "results/rates.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/units.h"

namespace duet {
namespace {

struct Unit {
  const char* suffix;   // the last part of a rate's name
  const char* heading;  // "": rate_text() puts the unit after the value
};

// Longer suffixes first: "gb_per_s" also ends in "_s".
constexpr std::array<Unit, 13> kUnits = {{{"gb_per_s", "GB/s"},
                                          {"glup_per_s", "GLUP/s"},
                                          {"tokens_per_s", "tokens/s"},
                                          {"samples_per_s", "samples/s"},
                                          {"gbit_per_s", "Gbit/s"},
                                          {"percent_of_link", "% of link"},
                                          {"percent_of_rails", "% of rails"},
                                          {"tflops", "TFLOP/s"},
                                          {"gflops", "GFLOP/s"},
                                          {"percent", "%"},
                                          {"seconds", ""},
                                          {"bytes", ""},
                                          {"us", "us"}}};

bool is_bytes(const std::string& rate) {
  return ends_with(rate, "bytes") || rate.compare(0, 6, "bytes_") == 0;
}

std::string words(std::string name) {
  for (char& c : name) {
    if (c == '_') c = ' ';
  }
  return name;
}

// The bounds of a machine with a power cap, and the energy of a byte: ", least 9.2 ms by compute,
// 4.1 ms by links, 9.9 ms by power (estimate), 0.24 J/GB".
std::string power_text(const ByName<double>& metrics) {
  if (!metrics.contains("power_estimate_seconds") || !metrics.contains("joules_per_gb")) return "";
  const auto seconds = [&metrics](const char* metric) {
    return format_seconds(metrics.value(metric));
  };
  return fmt::format(", least {} by compute, {} by links, {} by power (estimate), {:.2f} J/GB",
                     seconds("compute_seconds"), seconds("engine_seconds"),
                     seconds("power_estimate_seconds"), metrics.value("joules_per_gb"));
}

// "0.97 of ideal, bound 0.95"; a journal may lack either.
std::string overlap_text(const ByName<double>& metrics) {
  std::string text;
  if (const double* fraction = metrics.find("fraction_of_ideal")) {
    const double hundredths = std::round(100 * *fraction);
    text = fmt::format("{:.2f} of ideal", hundredths == 0 ? 0 : hundredths / 100);
  }
  const double* bound = metrics.find("bound");
  if (bound == nullptr) return text;
  return text + fmt::format("{}bound {:.2f}", text.empty() ? "" : ", ", *bound) +
         power_text(metrics);
}

}  // namespace

Rates usual_rates(const Cost& cost, double seconds) {
  if (cost.flop > 0) return {{"tflops", cost.flop / seconds / 1e12}};
  const double bytes = cost.wire_bytes > 0 ? cost.wire_bytes : cost.memory_bytes;
  if (bytes > 0) return {{"gb_per_s", bytes / seconds / 1e9}};
  return {};
}

Rates rates_of(const std::string& benchmark, const Cost& cost, double seconds) {
  return seconds > 0 ? record_kind(benchmark).rates(cost, seconds) : Rates{};
}

std::string rate_heading(const std::string& rate) {
  if (rate == "asymptotic_gb_per_s") return "limit GB/s";  // its own name is wider than its values
  const std::string share = "_percent";  // bytes_80_percent: the size from which on 80% is reached
  if (is_bytes(rate) && ends_with(rate, share)) {
    return rate.substr(6, rate.size() - 6 - share.size()) + "% from";
  }
  for (const Unit& unit : kUnits) {
    if (rate == unit.suffix) return *unit.heading ? unit.heading : rate;
    const std::string suffix = std::string("_") + unit.suffix;
    if (!ends_with(rate, suffix)) continue;
    const std::string stem = words(rate.substr(0, rate.size() - suffix.size()));
    return *unit.heading ? stem + " " + unit.heading : stem;
  }
  return words(rate);
}

std::string rate_text(const std::string& rate, double value) {
  if (ends_with(rate, "seconds")) return format_seconds(value);
  if (is_bytes(rate) && value <= 0) return "-";  // never reached
  if (is_bytes(rate) && value < 0x1p63) {
    // A fitted size is not a power of two and has no more than three exact digits.
    for (const auto& [unit, size] : {std::pair{"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}}) {
      if (value >= size) return format_rate(value / size) + " " + unit;
    }
    return std::to_string(std::llround(value)) + " B";
  }
  return format_rate(value);
}

std::string interval_text(const Seconds& seconds) {
  const double width = seconds.ci_high - seconds.ci_low;
  if (seconds.median <= 0) return "";
  if (width >= 2 * seconds.median) return ">100%";
  return fmt::format("{}{:.1f}%", seconds.bounded ? "" : ">", 50 * width / seconds.median);
}

std::optional<double> main_value(const Record& record) {
  if (!record.rates.empty()) return record.rates.front().second;
  const double* fraction = record.metrics.find("fraction_of_ideal");
  return fraction != nullptr ? std::optional<double>(*fraction) : std::nullopt;
}

std::string main_rate(const Record& record) {
  if (record.rates.empty()) return overlap_text(record.metrics);
  const auto& [rate, value] = record.rates.front();
  return rate_text(rate, value) + " " + rate_heading(rate);
}

}  // namespace duet
