#include <fmt/format.h>

#include "collectives/workload.h"
#include "core/units.h"
#include "results/rates.h"

namespace duet {
namespace {

// The sizes of a collective_crossover: "from 64 KiB to 1 MiB".
std::string range_text(const ByName<double>& rates) {
  const auto bytes = [&](const char* name) { return rates.value(name); };
  const auto shown = [&](const char* name) { return rate_text(name, bytes(name)); };
  const bool from_smallest = bytes("crossover_bytes") <= bytes("smallest_bytes");
  const bool to_largest = bytes("last_bytes") >= bytes("largest_bytes");
  if (from_smallest && to_largest) return "at every size";
  if (bytes("crossover_bytes") == bytes("last_bytes"))
    return "at " + shown("last_bytes") + " alone";
  if (to_largest) return "from " + shown("crossover_bytes") + " on";
  if (from_smallest) return "up to " + shown("last_bytes");
  return "from " + shown("crossover_bytes") + " to " + shown("last_bytes");
}

// "nvshmem-grid (packets of 64 KiB)"
std::string with_packet(const std::string& engine, const CaseId& id, const char* axis) {
  const auto packet = id.axes.number(axis);
  if (!packet) return engine;
  return fmt::format("{} (packets of {})", engine,
                     format_bytes(static_cast<std::uint64_t>(*packet)));
}

}  // namespace

std::string crossover_lines(const std::vector<Record>& results) {
  std::string text;
  for (const Record& record : results) {
    const CaseId& id = record.id;
    if (id.benchmark != "collective_crossover") continue;
    std::string call;
    for (const char* part : {"collective", "type", "op", "layout"}) {
      const std::string word = axis_word(id, part);
      call += (call.empty() || word.empty() ? "" : " ") + word;
    }
    if (axis_true(id, "in_place")) call += " in place";
    const ByName<double>& rates = record.rates;
    text += fmt::format("  {}: {} is the fastest {}, {:.2f} times {} at {}\n", call,
                        with_packet(id.engine, id, "packet"), range_text(rates),
                        rates.value("times_as_fast"),
                        with_packet(axis_word(id, "against"), id, "against_packet"),
                        rate_text("last_bytes", rates.value("last_bytes")));
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace duet
