// An all-gather beside compute, captured as a graph: overlap [DEVICE [POLICY]], of any device.
// Prints how long both take one after the other and overlapped, and checks what they leave.
#include <duet/communicator/communicator.h>
#include <duet/runtime/overlap.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::uint64_t kCount = 1 << 19;  // elements of each rank
constexpr int kSteps = 20;
constexpr double kDeadline = 60;  // seconds

// The compute of this example: copies within the device, by its compute units. Yours launches
// kernels on static_cast<cudaStream_t>(stream.native()).
void compute(duet::Stream& stream, const duet::Buffer& from, const duet::Buffer& to) {
  for (int i = 0; i < 4; ++i) {
    stream.copy({to.span(), from.span(), duet::Executor::kernel, {}});
  }
}

// Seconds of a step, in the device's time.
double time_steps(duet::LocalRank& rank, duet::Stream& stream, duet::Graph& step) {
  const auto begin = rank.device().make_event(), end = rank.device().make_event();
  step.launch(stream);
  stream.synchronize(kDeadline);
  rank.barrier("all ranks to have warmed up", kDeadline);
  stream.record(*begin);
  for (int i = 0; i < kSteps; ++i) step.launch(stream);
  stream.record(*end);
  stream.synchronize(kDeadline);
  return end->seconds_since(*begin) / kSteps;
}

void run(duet::LocalRank& rank, const duet::OverlapPolicy& policy) {
  duet::Collective collective;
  collective.kind = duet::CollectiveKind::all_gather;
  collective.dtype = duet::DType::int32;
  collective.count = kCount;
  const auto send = rank.allocate(duet::send_bytes(collective, rank.index(), rank.size()));
  const auto recv = rank.allocate(duet::recv_bytes(collective, rank.index(), rank.size()));
  const std::vector<std::int32_t> mine(kCount, rank.index() + 1);
  rank.device().write(send->span(), mine.data());
  const duet::Buffer from = rank.device().allocate(8 << 20), to = rank.device().allocate(8 << 20);
  duet::CollectiveCall call = rank.plan(collective, send->span(), recv->span());
  const auto stream = rank.device().make_stream();

  const auto time = [&](const duet::OverlapPolicy& chosen) {
    duet::Overlap overlap(rank, chosen);
    const auto step = duet::capture(*stream, [&] {
      overlap.enqueue(*stream, call, [&](duet::Stream& own) { compute(own, from, to); });
    });
    return time_steps(rank, *stream, *step);
  };
  const double serial = time({duet::OverlapPolicyKind::serial}), together = time(policy);
  std::vector<std::int32_t> all(recv->span().bytes / sizeof(std::int32_t));
  rank.device().read(recv->span(), all.data());
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    if (all[i] != static_cast<int>(i / kCount) + 1) throw duet::Mismatch("a wrong element");
  }
  if (rank.index() == 0) {
    std::printf("%d ranks: serial %.1f us, %s %.1f us: %.2f times as fast\n", rank.size(),
                1e6 * serial, duet::name(policy).c_str(), 1e6 * together, serial / together);
  }
  rank.retire(std::move(call));  // before its buffers go
}

}  // namespace

int main(int count, char** arguments) try {
  const std::string device = count > 1 ? arguments[1] : "cuda";
  const auto policy = duet::parse_policies(count > 2 ? arguments[2] : "dma").front();
  duet::Communicator communicator({device, duet::engine_of(policy, device)});
  communicator.each([&](duet::LocalRank& rank) { run(rank, policy); });
} catch (const std::exception& error) {
  std::fprintf(stderr, "overlap: %s\n", error.what());
  return dynamic_cast<const duet::UsageError*>(&error) != nullptr ? 2 : 1;
}
