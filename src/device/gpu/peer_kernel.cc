#include <algorithm>

#include "device/gpu/collective_kernel.h"
#include "device/gpu/kernels.h"
#include "device/gpu/packed.h"

namespace duet::DUET_GPU {
namespace {

std::uint32_t add_address(const Span& span, std::vector<unsigned char*>& to) {
  to.push_back(reinterpret_cast<unsigned char*>(span.data));
  return static_cast<std::uint32_t>(to.size() - 1);
}

std::uint8_t narrow(std::uint32_t value) { return static_cast<std::uint8_t>(value); }

template <typename Lists>
gpu::FewPeersTable few_of(const gpu::PeerKernelHead& head, const Lists& lists) {
  gpu::FewPeersTable table;
  static_cast<gpu::PeerKernelHead&>(table) = head;
  std::copy(lists.addresses.begin(), lists.addresses.end(), table.addresses);
  for (std::size_t i = 0; i < lists.moves.size(); ++i) {
    const auto& move = lists.moves[i];
    table.moves[i] = {move.bytes, move.share, narrow(move.source), narrow(move.destination),
                      narrow(move.width)};
  }
  for (std::size_t i = 0; i < lists.reductions.size(); ++i) {
    const auto& item = lists.reductions[i];
    table.reductions[i] = {item.bytes,
                           item.share,
                           narrow(item.first),
                           narrow(item.sources),
                           narrow(item.destinations),
                           narrow(item.width)};
  }
  std::copy(lists.arrivals.begin(), lists.arrivals.end(), table.arrivals);
  std::copy(lists.awaits.begin(), lists.awaits.end(), table.awaits);
  return table;
}

}  // namespace

GpuPeerKernel::GpuPeerKernel(GpuDevice& device, const PeerKernel& kernel)
    : GpuKernel(device), dtype_(kernel.dtype), op_(kernel.op), blocks_(kernel.blocks) {
  const Lists lists = lists_of(kernel);
  const gpu::PeerKernelHead head = head_of(kernel, lists);
  // kFewSpans spans make at most kFewSpans - 1 moves or kFewSpans / 3 reductions, so the arrays of
  // FewPeersTable are large enough.
  const bool few =
      lists.arrivals.size() <= gpu::kFewPeers && lists.addresses.size() <= gpu::kFewSpans;
  if (few) {
    table_ = few_of(head, lists);
  } else {
    table_ = upload(head, lists);
  }
}

GpuPeerKernel::Lists GpuPeerKernel::lists_of(const PeerKernel& kernel) const {
  Lists lists;
  for (const KernelItem& item : kernel.items) {
    if (item_bytes(item) == 0) continue;
    if (item.sources.size() == 1) {
      add_moves(item, lists);
    } else {
      add_reduction(item, lists);
    }
  }
  for (std::size_t i = 0; i < kernel.awaits.size(); ++i) {
    lists.arrivals.push_back(reinterpret_cast<std::uint64_t*>(kernel.arrivals[i].data));
    lists.awaits.push_back(reinterpret_cast<std::uint64_t*>(kernel.awaits[i].data));
  }
  return lists;
}

void GpuPeerKernel::add_moves(const KernelItem& item, Lists& to) const {
  const Span& source = item.sources.front();
  const std::uint32_t from = add_address(source, to.addresses);
  for (const Span& destination : item.destinations) {
    if (destination.data == source.data) continue;
    to.moves.push_back({item_bytes(item), first_share(item, blocks_), from,
                        add_address(destination, to.addresses),
                        common_width({{source}, {destination}})});
  }
}

void GpuPeerKernel::add_reduction(const KernelItem& item, Lists& to) const {
  to.reductions.push_back({item_bytes(item), first_share(item, blocks_),
                           static_cast<std::uint32_t>(to.addresses.size()),
                           static_cast<std::uint32_t>(item.sources.size()),
                           static_cast<std::uint32_t>(item.destinations.size()),
                           common_width(item)});
  for (const Span& source : item.sources) add_address(source, to.addresses);
  for (const Span& destination : item.destinations) add_address(destination, to.addresses);
}

gpu::PeerKernelHead GpuPeerKernel::head_of(const PeerKernel& kernel, const Lists& lists) {
  const std::vector<std::uint64_t> zeros(static_cast<std::size_t>(blocks_), 0);
  calls_ = device_.allocate(zeros.size() * sizeof zeros[0]);
  device_.write(calls_.span(), zeros.data());
  gpu::PeerKernelHead head;
  head.calls = reinterpret_cast<std::uint64_t*>(calls_.span().data);
  head.move_count = static_cast<int>(lists.moves.size());
  head.reduction_count = static_cast<int>(lists.reductions.size());
  head.peers = static_cast<int>(lists.awaits.size());
  head.averages = kernel.op == Reduction::avg;
  for (const KernelItem& item : kernel.items) {
    const bool elsewhere = item_bytes(item) > 0 &&
                           std::any_of(item.destinations.begin(), item.destinations.end(),
                                       [this](const Span& span) { return is_elsewhere(span); });
    head.writes_out = head.writes_out || elsewhere;
  }
  head.opens = kernel.opens;
  head.closes = kernel.closes;
  return head;
}

gpu::ManyPeersTable GpuPeerKernel::upload(const gpu::PeerKernelHead& head, const Lists& lists) {
  gpu::Packed packed;
  const std::size_t addresses = packed.add(lists.addresses), moves = packed.add(lists.moves),
                    reductions = packed.add(lists.reductions),
                    arrivals = packed.add(lists.arrivals), awaits = packed.add(lists.awaits);
  lists_ = device_.allocate(packed.bytes().size());
  device_.write(lists_.span(), packed.bytes().data());
  const std::byte* const base = lists_.span().data;
  gpu::ManyPeersTable table;
  static_cast<gpu::PeerKernelHead&>(table) = head;
  table.addresses = reinterpret_cast<unsigned char* const*>(base + addresses);
  table.moves = reinterpret_cast<const Move*>(base + moves);
  table.reductions = reinterpret_cast<const Reducing*>(base + reductions);
  table.arrivals = reinterpret_cast<std::uint64_t* const*>(base + arrivals);
  table.awaits = reinterpret_cast<std::uint64_t* const*>(base + awaits);
  return table;
}

// Whether the span is memory that a peer may read while this kernel runs or right after it.
bool GpuPeerKernel::is_elsewhere(const Span& span) const {
  return span.kind != MemoryKind::device || span.owner != &device_;
}

void GpuPeerKernel::launch(gpuStream_t stream) const {
  std::visit([&](const auto& table) { launch_peer_kernel(table, dtype_, op_, blocks_, stream); },
             table_);
}

}  // namespace duet::DUET_GPU
