#include "nccl_shim/protocol/receive_memory.h"

#include "core/error.h"

namespace duet::nccl_shim {

ReceiveMemory::ReceiveMemory(const OwnRank& rank, std::size_t slot_bytes, std::size_t packet_bytes,
                             LentMemory& lent, BorrowedMemory& borrowed)
    : OwnRank(rank), slot_bytes_(slot_bytes), borrowed_(borrowed) {
  const std::size_t bytes = slot_bytes + packet_bytes;
  if (bytes == 0) return;
  memory_ = static_cast<char*>(device_.allocate(bytes));
  try {
    RankEntry& own = shared_.ranks[rank_];
    own.slots = own.packets = lent.place(memory_, bytes, LentMemory::Owner::drop_in);
    own.packets.offset += slot_bytes;
    if (packet_bytes > 0) device_.clear(packets(), packet_bytes);
  } catch (const Error&) {
    device_.free(memory_);
    throw;
  }
}

ReceiveMemory::~ReceiveMemory() {
  if (exists()) device_.free(memory_);
}

void ReceiveMemory::map() {
  for (int peer = 0; peer < ranks_ && exists(); ++peer) {
    if (peer != rank_) slots_of(peer);
  }
}

}  // namespace duet::nccl_shim
