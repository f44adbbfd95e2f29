// An all-gather of bf16 in Duet's memory, on any device: all_gather [DEVICE [ENGINE]]. Started
// alone, by mpirun, or as several processes with MASTER_ADDR, RANK and WORLD_SIZE.
#include <duet/communicator/communicator.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::uint64_t kCount = 1 << 20;  // elements of each rank
constexpr double kDeadline = 60;           // seconds

void gather(duet::LocalRank& rank) {
  duet::Collective collective;
  collective.kind = duet::CollectiveKind::all_gather;
  collective.dtype = duet::DType::bf16;
  collective.count = kCount;

  const auto send = rank.allocate(duet::send_bytes(collective, rank.index(), rank.size()));
  const auto recv = rank.allocate(duet::recv_bytes(collective, rank.index(), rank.size()));
  duet::CollectiveCall call = rank.plan(collective, send->span(), recv->span());

  const std::vector<std::uint16_t> mine(kCount, static_cast<std::uint16_t>(rank.index() + 1));
  rank.device().write(send->span(), mine.data());
  const auto stream = rank.device().make_stream();
  call.enqueue(*stream);  // as often as there is something to gather
  stream->synchronize(kDeadline);

  std::vector<std::uint16_t> all(recv->span().bytes / sizeof(std::uint16_t));
  rank.device().read(recv->span(), all.data());
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    if (all[i] != i / kCount + 1) throw duet::Mismatch("a wrong element");
  }
  if (rank.index() == 0) {
    std::printf("%d ranks have each other's %d elements, by %s\n", rank.size(),
                static_cast<int>(kCount), call.algorithm().c_str());
  }
  rank.retire(std::move(call));  // before its buffers go
}

}  // namespace

int main(int count, char** arguments) {
  try {
    duet::CommunicatorOptions options;
    if (count > 1) options.device = arguments[1];
    if (count > 2) options.engine = arguments[2];
    duet::Communicator communicator(options);
    communicator.each(gather);
    return 0;
  } catch (const duet::UsageError& error) {
    std::fprintf(stderr, "all_gather: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "all_gather: %s\n", error.what());
    return 1;
  }
}
