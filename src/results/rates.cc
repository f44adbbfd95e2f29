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

Rates collective_rates(const Cost& cost, double seconds) {
  Rates rates = {{"busbw_gb_per_s", cost.bus_bytes / seconds / 1e9},
                 {"algbw_gb_per_s", cost.algorithm_bytes / seconds / 1e9}};
  if (cost.busiest_wire_bytes > 0) {
    rates.emplace_back("wire_gb_per_s", cost.busiest_wire_bytes / seconds / 1e9);
  }
  if (cost.network_bytes > 0 && cost.link_gbit_per_s > 0) {
    const double gbit_per_s = 8 * cost.network_bytes / seconds / 1e9;
    rates.emplace_back("percent_of_rails", 100 * gbit_per_s / cost.link_gbit_per_s);
  }
  return rates;
}

Rates network_rates(const Cost& cost, double seconds) {
  const double gbit_per_s = 8 * cost.network_bytes / seconds / 1e9;
  Rates rates = {{"gbit_per_s", gbit_per_s}};
  if (cost.link_gbit_per_s > 0) {
    rates.emplace_back("percent_of_link", 100 * gbit_per_s / cost.link_gbit_per_s);
  }
  return rates;
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

Rates rates_from(const Cost& cost, double seconds) {
  if (!(seconds > 0)) return {};
  if (cost.algorithm_bytes > 0) return collective_rates(cost, seconds);
  if (cost.network_bytes > 0) return network_rates(cost, seconds);
  if (cost.points > 0) {
    return {{"gb_per_s", cost.memory_bytes / seconds / 1e9},
            {"glup_per_s", cost.points / seconds / 1e9}};
  }
  if (cost.tokens > 0) {
    return {{"tokens_per_s", cost.tokens / seconds}, {"tflops", cost.flop / seconds / 1e12}};
  }
  if (cost.samples > 0) {
    return {{"samples_per_s", cost.samples / seconds}, {"tflops", cost.flop / seconds / 1e12}};
  }
  if (cost.flop > 0) return {{"tflops", cost.flop / seconds / 1e12}};
  const double bytes = cost.wire_bytes > 0 ? cost.wire_bytes : cost.memory_bytes;
  if (bytes > 0) return {{"gb_per_s", bytes / seconds / 1e9}};
  return {};
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

std::string network_text(const Record& record) {
  const ByName<double>& rates = record.rates;
  if (!rates.contains("latency_p50_us")) return "";
  std::string text;
  if (const double* percent = rates.find("percent_of_link")) {
    text = fmt::format("{:.0f}% of link, ", *percent);
  }
  const auto time = [&](const char* rate) { return format_seconds(1e-6 * rates.value(rate)); };
  text += fmt::format("p50 {}, p95 {}, p99 {}", time("latency_p50_us"), time("latency_p95_us"),
                      time("latency_p99_us"));
  if (!rates.contains("push_us")) return text;
  return text + fmt::format("; push {}, poll {}, post {}, completion {}", time("push_us"),
                            time("poll_us"), time("post_us"), time("completion_us"));
}

std::string interval_text(const Seconds& seconds) {
  const double width = seconds.ci_high - seconds.ci_low;
  if (seconds.median <= 0) return "";
  if (width >= 2 * seconds.median) return ">100%";
  return fmt::format("{}{:.1f}%", seconds.bounded ? "" : ">", 50 * width / seconds.median);
}

std::string collective_text(const Record& record) {
  const ByName<double>& rates = record.rates;
  if (!rates.contains("algbw_gb_per_s")) return "";
  const auto rate = [&rates](const char* name) { return format_rate(rates.value(name)); };
  std::string text = fmt::format("algbw {} GB/s", rate("algbw_gb_per_s"));
  if (rates.contains("wire_gb_per_s")) text += fmt::format(", wire {} GB/s", rate("wire_gb_per_s"));
  if (rates.contains("percent_of_rails")) {
    text += fmt::format(", {:.0f}% of rails", rates.value("percent_of_rails"));
  }
  if (rates.contains("wrong")) text += fmt::format(", wrong {:.0f}", rates.value("wrong"));
  const std::string* count = record.notes.find("count");
  return count != nullptr ? text + ", count " + *count : text;
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
