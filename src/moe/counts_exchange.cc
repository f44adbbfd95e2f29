#include "moe/counts_exchange.h"

#include <fmt/format.h>

#include <vector>

#include "core/error.h"
#include "core/names.h"
#include "moe/stages.h"

namespace duet {
namespace {

constexpr NamedValue<MoeCounts> kCounts[] = {{MoeCounts::known, "known"},
                                             {MoeCounts::host, "host"}};

}  // namespace

const char* name(MoeCounts counts) { return name_of(kCounts, counts); }

MoeCounts parse_moe_counts(const std::string& text) {
  return parse_name(kCounts, "--counts: unknown way", text);
}

CountsExchange::CountsExchange(Rank& rank, CollectiveSession& session, const RowHop& hop,
                               std::int64_t own, bool checks)
    : rank_(rank.index),
      hop_(hop),
      own_(own),
      checks_(checks),
      offsets_{{}, 1, hop.groups + 1, DType::int32},
      all_{{}, hop.ranks(), hop.groups + 1, DType::int32},
      offsets_memory_(session.allocate(rank, offsets_.bytes())),
      all_memory_(session.allocate(rank, all_.bytes())),
      host_(rank.device.allocate(all_.bytes(), MemoryKind::pinned)),
      copies_(rank.device.make_stream()),
      gathered_(rank.device.make_event(EventUse::order)) {
  offsets_.span = offsets_memory_->span();
  all_.span = all_memory_->span();
  Collective gather;
  gather.kind = CollectiveKind::all_gather;
  gather.dtype = DType::int32;
  gather.count = static_cast<std::uint64_t>(offsets_.columns);
  plan_ = session.plan(rank, gather, {offsets_.span, all_.span});
}

void CountsExchange::enqueue(Stream& stream) const {
  plan_->enqueue(stream);
  stream.record(*gathered_);
  copies_->wait(*gathered_);
  copies_->copy({host_.span(), all_.span, Executor::dma, {}});
}

void CountsExchange::wait() const {
  copies_->synchronize(kMoeDeadline);
  if (checks_) check();
}

// Rows stand by rank: before those for the first rank of a group stand those for all ranks before
// it.
void CountsExchange::check() const {
  std::vector<std::int32_t> offsets(static_cast<std::size_t>(all_.count()));
  host_.span().owner->read(host_.span(), offsets.data());
  const int ranks = hop_.ranks();
  for (int from = 0; from < ranks; ++from) {
    std::uint64_t before = 0;
    int to = 0;
    for (int group = 0; group <= hop_.groups; ++group) {
      const std::int64_t expert =
          hop_.first_expert[static_cast<std::size_t>(from)] + group * hop_.experts_of_group;
      if (expert % own_ != 0) continue;
      for (; to < expert / own_; ++to)
        before += hop_.sent[static_cast<std::size_t>(from * ranks + to)];
      const auto got = offsets[static_cast<std::size_t>(from * (hop_.groups + 1) + group)];
      if (static_cast<std::uint64_t>(got) == before) continue;
      throw Mismatch(
          fmt::format("moe on rank {}: rank {} tells {} rows for ranks before {}, "
                      "expected {}",
                      rank_, from, got, to, before));
    }
  }
}

}  // namespace duet
