#include <fmt/format.h>

#include <algorithm>

#include "fabric/workload.h"
#include "timing/work.h"

namespace duet {
namespace {

// Shares of the links' rate, measured on EFA (p5.48xlarge, 32 NICs of 100 Gbit/s) with messages of
// 8 MiB and more:
//   writes on one NIC            97 Gbit/s of 100
//   writes split over four NICs  380 Gbit/s of 400
//   send and receive on one NIC  48 Gbit/s of 100
constexpr double kOneRail = 0.97, kSeveralRails = 0.95, kThereAndBack = 0.48;
constexpr double kBytesInFlight = 8 << 20;  // with fewer bytes in flight latency dominates

// Why no figure is expected of the record; "" if one is.
std::string unjudged(const Record& record, double in_flight) {
  if (record.cost.more.value(kLinkGbitPerS) <= 0) {
    return "the link's speed is not known: --link-gbit says it";
  }
  const std::string path = axis_word(record.id, "memory_path");
  if (path == "ipc" || path == "staged") return "the data take another way than the link alone";
  if (axis_word(record.id, "issue") == "blocking") return "producers wait after each message";
  if (axis_word(record.id, "operation") == "all_to_all") {
    return "what switches leave to all at once is not known";
  }
  return in_flight < kBytesInFlight ? "little is in flight: latency decides" : "";
}

}  // namespace

Expectation expect_fabric(const Record& record, const Site&) {
  Expectation expectation;
  const double bytes = axis_number(record.id, "bytes");
  const double window =
      std::min(axis_number(record.id, "window"), axis_number(record.id, "messages"));
  const double link = record.cost.more.value(kLinkGbitPerS);
  if (link > 0) expectation.bound = link;
  expectation.unknown = unjudged(record, bytes * window);
  if (!expectation.unknown.empty()) return expectation;
  const double rails = axis_number(record.id, "rails");
  const std::string mode = axis_word(record.id, "mode");
  const bool there_and_back = axis_word(record.id, "operation") == "send_recv";
  double share = mode == "single" || rails < 2 ? kOneRail : kSeveralRails;
  if (there_and_back) share *= kThereAndBack / kOneRail;
  if (mode == "round_robin") share *= std::min(window, rails) / rails;  // the rails in use
  expectation.expected = share * link;
  expectation.basis = fmt::format("{:.0f}% of the links' {:.4g} Gbit/s{}", 100 * share, link,
                                  there_and_back ? ", there and back one after the other" : "");
  expectation.advice =
      "look at each rail alone (--rails NAME --rail-mode single) and at a larger --window; on "
      "Ethernet MTU 9000 carries more of the data than 1500";
  return expectation;
}

}  // namespace duet
