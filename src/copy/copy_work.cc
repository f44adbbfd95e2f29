// The first transfer of a rank runs on the sampler's stream, its other transfers on streams that
// are forked from that stream and joined into it.
#include "copy/copy_work.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "core/error.h"

namespace duet {
namespace {

constexpr double kDeadline = 120;  // seconds for filling one buffer
constexpr Fill kPoison{FillKind::constant, 0xDB, 0, DType::fp32};

// A seed that this process has never used: memory may still hold the data of an earlier transfer.
std::uint64_t fresh_seed() {
  static std::atomic<std::uint64_t> made{0};
  return ++made;
}

Fill payload(std::uint64_t seed) { return {FillKind::pattern, seed, 0, DType::fp32}; }

}  // namespace

CopyWork::CopyWork(Team& team, const CopyShape& shape, std::uint64_t bytes)
    : CopyWork(team, transfers(shape, bytes, team.size())) {}

CopyWork::CopyWork(Team& team, const std::vector<Transfer>& list) : team_(team) {
  for (const Transfer& transfer : list) {
    CopyLane lane;
    lane.transfer = transfer;
    lanes_.push_back(std::move(lane));
  }
}

Cost CopyWork::cost() const {
  double bytes = 0;
  bool local = true;
  for (const CopyLane& lane : lanes_) {
    bytes += static_cast<double>(lane.transfer.bytes);
    local = local && is_local(lane.transfer);
  }
  Cost cost;
  if (local) {
    cost.memory_bytes = 2 * bytes;
  } else {
    cost.wire_bytes = bytes;
  }
  return cost;
}

std::string CopyWork::engines() const {
  std::set<std::string> names;
  for (const CopyLane& lane : lanes_) {
    if (!lane.engine.empty()) names.insert(lane.engine);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Copy CopyWork::copy_of(const CopyLane& lane) {
  return {lane.destination.span(), lane.source.span(), lane.transfer.executor,
          lane.transfer.kernel};
}

void CopyWork::allocate(CopyLane& lane) {
  const Transfer& t = lane.transfer;
  lane.source = team_.device(t.source.rank).allocate(t.bytes, t.source.memory);
  lane.destination = team_.device(t.destination.rank).allocate(t.bytes, t.destination.memory);
}

void CopyWork::fill(CopyLane& lane) {
  lane.seed = fresh_seed();
  const auto fill_at = [this](const Buffer& buffer, int rank, const Fill& contents) {
    auto stream = team_.device(rank).make_stream();
    stream->fill(buffer.span(), contents);
    stream->synchronize(kDeadline);
  };
  const Transfer& t = lane.transfer;
  fill_at(lane.source, t.source.rank, payload(lane.seed));
  fill_at(lane.destination, t.destination.rank, kPoison);
}

void CopyWork::prepare(Rank& rank, const Placement& placement) {
  bool first = true;
  for (CopyLane& lane : lanes_) {
    if (lane.transfer.issuer != rank.index) continue;
    allocate(lane);
    if (lane.transfer.executor == Executor::sdma)
      lane.engine = rank.device.copy_engine(copy_of(lane));
    fill(lane);
    if (first) {
      lane.begin = rank.device.make_event();
    } else {
      lane.stream = rank.device.make_stream({placement.priority});
      lane.end = rank.device.make_event();
    }
    first = false;
  }
}

bool CopyWork::host_driven() const {
  if (team_.device(0).info().cpu_addressable) return false;
  return std::any_of(lanes_.begin(), lanes_.end(), [](const CopyLane& lane) {
    return lane.transfer.source.memory == MemoryKind::pageable ||
           lane.transfer.destination.memory == MemoryKind::pageable;
  });
}

void CopyWork::enqueue(Rank& rank, Stream& stream) {
  Event* begin = nullptr;
  for (CopyLane& lane : lanes_) {
    if (lane.transfer.issuer != rank.index) continue;
    const Copy copy = copy_of(lane);
    if (lane.stream == nullptr) {
      begin = lane.begin.get();
      stream.record(*begin);
      stream.copy(copy);
    } else {
      lane.stream->wait(*begin);
      lane.stream->copy(copy);
      lane.stream->record(*lane.end);
    }
  }
  for (CopyLane& lane : lanes_) {
    if (lane.transfer.issuer == rank.index && lane.stream != nullptr) stream.wait(*lane.end);
  }
}

void CopyWork::renew(Rank& rank) {
  for (CopyLane& lane : lanes_) {
    if (lane.transfer.issuer == rank.index) fill(lane);
  }
}

std::optional<Skipped> CopyWork::verify(Rank& rank) {
  for (CopyLane& lane : lanes_) {
    if (lane.transfer.issuer != rank.index) continue;
    Device& owner = team_.device(lane.transfer.destination.rank);
    const Span span = lane.destination.span();
    if (!owner.has_contents(span)) {
      return Skipped{fmt::format("{} bytes have no contents on a simulated machine", span.bytes)};
    }
    if (const auto difference = owner.check(span, payload(lane.seed))) {
      throw Mismatch(fmt::format("copy to {}: {} of {} bytes are wrong, the first at {}",
                                 owner.info().name, difference->count, span.bytes,
                                 difference->first_offset));
    }
  }
  return {};
}

void CopyWork::release(Rank& rank) noexcept {
  for (CopyLane& lane : lanes_) {
    if (lane.transfer.issuer != rank.index) continue;
    lane.stream.reset();
    lane.begin.reset();
    lane.end.reset();
    lane.source.reset();
    lane.destination.reset();
  }
}

}  // namespace duet
