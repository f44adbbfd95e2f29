// One movement of bytes between two places. Every experiment of `duet copy` is a list of these,
// and one Work runs any list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/stream.h"

namespace duet {

enum class CopyKind { peer, local, host_to_device, device_to_host };
std::string_view name(CopyKind kind);
CopyKind parse_copy_kind(std::string_view text);  // throws UsageError

// Who issues a copy between two devices: the source's device (its kernels write to the peer) or
// the destination's (its kernels read from the peer).
enum class Issue { push, pull };
std::string_view name(Issue issue);
Issue parse_issue(std::string_view text);  // throws UsageError

// pair: between two places; all_pairs: every device to every other one at once.
enum class Pattern { pair, all_pairs };
std::string_view name(Pattern pattern);
Pattern parse_pattern(std::string_view text);  // throws UsageError

struct Endpoint {
  int rank = 0;  // whose device, or by whose device reached
  MemoryKind memory = MemoryKind::device;
};

struct Transfer {
  Endpoint source, destination;
  int issuer = 0;  // rank
  std::uint64_t bytes = 0;
};

// What the cases of a copy vary, beside the size.
struct CopyShape {
  CopyKind kind = CopyKind::peer;
  Executor executor = Executor::dma;
  Issue issue = Issue::push;
  Pattern pattern = Pattern::pair;
  Endpoint source, destination;
  bool bidirectional = false;
  KernelShape kernel;
};

// The list that a shape stands for, among `ranks` ranks.
std::vector<Transfer> transfers(const CopyShape& shape, std::uint64_t bytes, int ranks);

}  // namespace duet
