#pragma once

#include <string_view>
#include <vector>

namespace duet {

enum class FabricOperation {
  send_recv,   // a message there and one back
  write,       // into the peer's memory
  write_imm,   // the same, and its arrival is reported to the peer
  read,        // from the peer's memory
  all_to_all,  // a write from every process to every other one
};

enum class RailMode {
  single,       // the first rail alone
  split,        // every message over all rails, the remainder over the last
  round_robin,  // message i over rail i modulo their number
};

// Who posts writes.
enum class RailIssue {
  direct,       // the process itself
  blocking,     // producers by a proxy, each waiting for the end of every message of its own
  nonblocking,  // the same, waiting for the end of the last one
};

// How data in memory that the CPU cannot address get to a rail and from it.
enum class MemoryPath {
  direct,  // the rail's library reaches the memory itself
  ipc,  // GPUs of one machine copy between each other's memory; rails carry control messages only
  staged,  // copied to pinned memory, moved by rails, and copied on at the other end
};

std::string_view name(FabricOperation operation);
std::string_view name(RailMode mode);
std::string_view name(RailIssue issue);
std::string_view name(MemoryPath path);

// Throw UsageError that lists the known names.
FabricOperation parse_fabric_operation(std::string_view text);
RailMode parse_rail_mode(std::string_view text);
RailIssue parse_rail_issue(std::string_view text);
MemoryPath parse_memory_path(std::string_view text);

// The operations that this number of processes can run: two all, more only all_to_all.
std::vector<FabricOperation> fabric_operations(int processes);

}  // namespace duet
