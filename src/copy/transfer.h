// A transfer copies bytes between two endpoints. Every case of `duet copy` is a list of transfers,
// which CopyWork runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/stream.h"

namespace duet {

enum class CopyKind { peer, local, host_to_device, device_to_host };
std::string_view name(CopyKind kind);
CopyKind parse_copy_kind(std::string_view text);  // throws UsageError

// Which device issues a copy between two devices. push: the source's (its kernels write to the
// peer); pull: the destination's (its kernels read from the peer).
enum class Issue { push, pull };
std::string_view name(Issue issue);
Issue parse_issue(std::string_view text);  // throws UsageError

// pair: between two endpoints; all_pairs: every device to every other device at once.
enum class Pattern { pair, all_pairs };
std::string_view name(Pattern pattern);
Pattern parse_pattern(std::string_view text);  // throws UsageError

struct Endpoint {
  // Whose device has the memory; for host memory, whose device accesses it. In a case list it is
  // the device's number in the machine; in a CopyWork, the rank in the work's team.
  int rank = 0;
  MemoryKind memory = MemoryKind::device;
};

struct Transfer {
  Endpoint source, destination;
  int issuer = 0;  // the rank whose stream copies
  std::uint64_t bytes = 0;
  Executor executor = Executor::dma;
  KernelShape kernel;
};

// Is it a copy within one device's memory?
bool is_local(const Transfer& transfer);

// All parameters of a copy case except the size.
struct CopyShape {
  CopyKind kind = CopyKind::peer;
  Executor executor = Executor::dma;
  Issue issue = Issue::push;
  Pattern pattern = Pattern::pair;
  Endpoint source, destination;
  bool bidirectional = false;
  KernelShape kernel;
};

// The transfers of a shape, with `bytes` each, among `ranks` ranks.
std::vector<Transfer> transfers(const CopyShape& shape, std::uint64_t bytes, int ranks);

}  // namespace duet
