#include "core/drop_in_thresholds.h"

#include <algorithm>

#include "core/packets.h"

namespace duet {

bool DropInThresholds::take_nothing() const {
  const bool copies = std::any_of(copies_from.begin(), copies_from.end(),
                                  [](const auto& from) { return from.has_value(); });
  const bool kernel =
      std::any_of(kernel_to.begin(), kernel_to.end(), [](auto to) { return to > 0; });
  return !copies && !kernel && packets_to == 0;
}

DropInThresholds read_drop_in_thresholds(TomlTable table) {
  DropInThresholds read;
  read.models = table.texts("models");
  table.text("source");
  read.packets_to = table.size_or_never("packets_to").value_or(0);
  if (read.packets_to > kMostDropInPackets || read.packets_to % kDropInPacketUnit != 0) {
    table.fail("packets_to", "a multiple of 128 bytes up to 1M, or \"never\"");
  }
  TomlTable copies = table.table("copies_from");
  for (std::size_t i = 0; i < kDropInCalls.size(); ++i) {
    read.copies_from[i] = copies.size_or_never(kDropInCalls[i]);
  }
  copies.finish();
  if (table.has("kernel_to")) {
    TomlTable kernel = table.table("kernel_to");
    for (std::size_t i = 0; i < kDropInChunkCalls; ++i) {
      read.kernel_to[i] = kernel.size_or_never(kDropInCalls[i]).value_or(0);
    }
    kernel.finish();
  }
  table.finish();
  return read;
}

}  // namespace duet
