#include "core/drop_in_thresholds.h"

#include "core/packets.h"

namespace duet {

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
  table.finish();
  return read;
}

}  // namespace duet
