// Calls in chunks by ranks that are processes, whose kernels are emulated thread by thread.
#include <gtest/gtest.h>

#include "nccl_shim/protocol/buffers_fixture.h"
#include "nccl_shim/protocol/pair_copies.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim {
namespace {

using testing::Buffers;
using testing::Setting;
using testing::TestRank;

// Of several blocks, and of more chunks than there are places, of two roots.
TEST(ChunksOfRanks, MakeCallsOfEveryKind) {
  for (const int ranks : {3, 4}) {
    Setting setting = Setting::by_chunks(ranks, 0, 0);
    setting.chunk_round = 2048;
    testing::on_processes(setting, [](TestRank& rank) {
      for (const Kind kind : {Kind::all_gather, Kind::all_to_all, Kind::broadcast,
                              Kind::reduce_scatter, Kind::all_reduce}) {
        for (const std::size_t count : {37u, 30001u}) {
          const Buffers buffers(rank, kind, count, true);
          for (const int number : {0, rank.ranks - 1}) {
            buffers.fill(number);
            rank.copies->enqueue(buffers.call(number), rank.stream());
            rank.synchronise();
            EXPECT_EQ(buffers.wrong(number, number), 0u)
                << "kind " << static_cast<int>(kind) << ", " << count << " elements, call "
                << number << ", rank " << rank.rank << " of " << rank.ranks;
          }
        }
      }
      EXPECT_EQ(rank.device.copies, 0);
    });
  }
}

}  // namespace
}  // namespace duet::nccl_shim
