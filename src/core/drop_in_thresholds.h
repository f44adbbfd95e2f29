// Where Duet's drop-in for NCCL (src/nccl_shim) is as fast as NCCL, as specs/tuning has it: for the
// drop-in itself, which links nothing of libduet, and for `duet nccl-env`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/toml_table.h"

namespace duet {

// What the drop-in takes over from a size on, as tables of specs/tuning name it.
constexpr std::array<const char*, 6> kDropInCalls = {"all_gather",     "all_to_all", "broadcast",
                                                     "reduce_scatter", "all_reduce", "send_recv"};

// The first of these are also made by a kernel of chunks.
constexpr std::size_t kDropInChunkCalls = 5;

// For one number of ranks, in one process and in several.
struct DropInThresholds {
  std::vector<std::string> models;  // of devices, as drivers name them
  // By kDropInCalls: from which size on by copy engines. Empty: never.
  std::array<std::optional<std::uint64_t>, kDropInCalls.size()> copies_from;
  std::uint64_t packets_to = 0;  // up to which size as packets; 0: none are
  // By kDropInCalls: up to which size by the kernel, what is neither packets nor, outside of
  // captures, copies; 0: none is.
  std::array<std::uint64_t, kDropInChunkCalls> kernel_to = {};

  bool take_nothing() const;
};

// Reads a table [row.beside_nccl]. Throws UsageError that names the file, the key and what was
// expected.
DropInThresholds read_drop_in_thresholds(TomlTable table);

}  // namespace duet
