// One JSON object a line: "coll_perf" of a collective, "p2p_perf" of a send or a receive, of one
// communicator ("header"); others tell what was lost. Lines stand in the order of writing, each
// communicator's calls behind each other; "coll_sn" numbers them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/units.h"
#include "importing/json_fields.h"
#include "replay/operators.h"
#include "replay/trace_reader.h"
#include "results/record_json.h"

namespace duet {
namespace {

using Json = nlohmann::ordered_json;

// Inspector does not name element types. Bytes of BFloat16, so that reductions can be made.
constexpr const char* kAssumedType = "BFloat16";
constexpr std::uint64_t kAssumedBytes = 2;

// The message of an all_gather or a reduce_scatter is a rank's part.
NamedCollective collective_line(const Json& header, const Json& perf) {
  const bool is_p2p = perf.contains("p2p");
  NamedCollective called{text_at(perf, is_p2p ? "p2p" : "coll"), kAssumedType};
  called.ranks = static_cast<int>(
      std::min<std::int64_t>(count_at(header, "n_ranks").value_or(0), std::int64_t{1} << 30));
  const auto bytes = static_cast<std::uint64_t>(
      count_at(perf, is_p2p ? "p2p_msg_size_bytes" : "coll_msg_size_bytes").value_or(0));
  called.sent = called.received = bytes / kAssumedBytes;
  const auto all = static_cast<std::uint64_t>(std::max(1, called.ranks));
  const bool fits = called.sent <= (std::uint64_t{1} << 60) / all;
  if (called.name == "AllGather") called.received = fits ? called.sent * all : ~std::uint64_t{0};
  if (called.name == "ReduceScatter") called.sent = fits ? called.sent * all : ~std::uint64_t{0};
  called.group = text_at(header, "id");
  called.number = count_at(perf, is_p2p ? "p2p_sn" : "coll_sn");
  return called;
}

void take_line(RecordedTrace& trace, const Json& line, std::int64_t& lost) {
  for (const char* key : {"coll_perf", "p2p_perf"}) {
    const Json& perf = value_at(line, key);
    if (!perf.is_object()) continue;
    const bool is_p2p = key[0] == 'p';
    const auto micros = amount_at(perf, is_p2p ? "p2p_exec_time_us" : "coll_exec_time_us");
    trace.calls.push_back({collective_of(collective_line(value_at(line, "header"), perf)),
                           micros.value_or(0) * 1e-6});
  }
  const Json& stats = value_at(line, "dump_stats");
  lost += count_at(stats, "coll_dropped_since_last_dump").value_or(0);
}

}  // namespace

RecordedTrace read_inspector(std::string_view text) {
  RecordedTrace trace;
  trace.form = "NCCL Inspector";
  trace.remarks = {"the trace has no GEMMs and no element types: bf16 is taken"};
  std::int64_t lost = 0;
  for (const Line& each : lines_of(text)) {
    if (trim(each.text).empty()) continue;
    const Json line = nests_too_deep(each.text)
                          ? Json()
                          : Json::parse(each.text.begin(), each.text.end(), nullptr, false);
    if (!line.is_object()) {
      throw UsageError(
          fmt::format("{}: expected an object of NCCL Inspector on each line", each.number));
    }
    take_line(trace, line, lost);
  }
  if (lost > 0)
    trace.remarks.push_back(fmt::format("collectives that NCCL Inspector lost: {}", lost));
  return trace;
}

}  // namespace duet
