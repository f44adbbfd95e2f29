// Laying out what a rank and its peers put into each other's boxes.
#include "device/gpu/staged_exchange.h"

#include <vector>

#include "device/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

unsigned char* bytes_of(const Span& span) { return reinterpret_cast<unsigned char*>(span.data); }

}  // namespace

StagedExchange::StagedExchange(GpuDevice& device, const Exchange& exchange)
    : GpuExchange(device),
      reduces_(exchange.staged->reduces),
      dtype_(exchange.dtype),
      op_(exchange.op),
      blocks_(exchange.blocks) {
  const Staged& staged = *exchange.staged;
  table_.source = bytes_of(staged.source);
  table_.destination = bytes_of(staged.destination);
  table_.units = static_cast<std::uint32_t>(staged.source.bytes / kStagedUnit);
  table_.averages = exchange.op == Reduction::avg;
  for (const StagedPeer& peer : staged.peers) {
    const Span& words = exchange.awaits[static_cast<std::size_t>(table_.peers)];
    table_.by_peer[table_.peers++] = {bytes_of(peer.source), bytes_of(peer.outbox),
                                      bytes_of(peer.inbox), bytes_of(peer.destination),
                                      reinterpret_cast<const std::uint64_t*>(words.data)};
  }
  const std::vector<std::uint64_t> zeros(static_cast<std::size_t>(blocks_), 0);
  calls_ = device_.allocate(zeros.size() * sizeof zeros[0]);
  device_.write(calls_.span(), zeros.data());
  table_.calls = reinterpret_cast<std::uint64_t*>(calls_.span().data);
}

void StagedExchange::launch(gpuStream_t stream) const {
  launch_staged(table_, reduces_, dtype_, op_, blocks_, stream);
}

}  // namespace duet::DUET_GPU
