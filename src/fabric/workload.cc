#include "fabric/workload.h"

#include <fmt/format.h>

#include "core/units.h"
#include "fabric/cases.h"
#include "timing/work.h"

namespace duet {
namespace {

// RecordKind::rates of `fabric`: "gbit_per_s"; "percent_of_link" if the links' speed is known.
Rates fabric_rates(const Cost& cost, double seconds) {
  const double gbit_per_s = 8 * cost.more.value(kNetworkBytes) / seconds / 1e9;
  if (gbit_per_s <= 0) return usual_rates(cost, seconds);
  Rates rates = {{"gbit_per_s", gbit_per_s}};
  if (const double link = cost.more.value(kLinkGbitPerS); link > 0) {
    rates.emplace_back("percent_of_link", 100 * gbit_per_s / link);
  }
  return rates;
}

// What a table prints after the main rate of messages: "98% of link, p50 2.11 ms, p95 2.13 ms, p99
// 2.20 ms", then the times of a proxy's steps if the record has them. "" for other records.
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

std::vector<RecordKind> fabric_records() {
  RecordKind fabric{"fabric"}, fifo{"fabric_fifo"}, recommendation{"fabric_recommendation"};
  fabric.quantities = {kNetworkBytes, kLinkGbitPerS};
  fabric.rates = fabric_rates;
  fabric.figures = {"gbit_per_s",     "percent_of_link", "latency_p50_us", "latency_p95_us",
                    "latency_p99_us", "push_us",         "poll_us",        "post_us",
                    "completion_us",  "times_as_fast"};
  fabric.more_text = network_text;
  fabric.expect = expect_fabric;
  fifo.figures = {"million_per_s"};
  recommendation.answer = "mode";
  return {fabric, fifo, recommendation};
}

// If the fabric cannot be opened, the benchmark is one skipped case with the reason.
std::optional<Benchmark> short_between_ends(Machine& machine, const std::string& device,
                                            const std::function<bool()>& stop) {
  FabricOptions options;
  options.operations = {FabricOperation::send_recv, FabricOperation::write};
  options.sizes = {64ull << 10, 1ull << 20, 16ull << 20};
  options.windows = {8};
  options.mode.seconds = 0.2;
  options.device_name = machine.name();
  try {
    return both_ends_benchmark(machine, open_machine(device), options, stop);
  } catch (const Error& error) {
    Benchmark benchmark;
    benchmark.cases.push_back(
        skipped_case({"fabric", machine.name(), "libfabric", {}}, error.what(), {}));
    return benchmark;
  }
}

}  // namespace

const Workload& fabric_workload() {
  static const Workload fabric{fabric_records(), {{"quick", "host", false, short_between_ends}}};
  return fabric;
}

}  // namespace duet
