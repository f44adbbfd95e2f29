#include "nccl_shim/protocol/segment_agreement.h"

#include <string>

#include "core/error.h"

namespace duet::nccl_shim {
namespace {

constexpr std::size_t kTestSegments = 2;

// The last word of the first segment, and the first one of the second.
constexpr std::size_t kTestWords = 2;

std::uint64_t test_word(int rank, std::size_t index) {
  return 0x7365676d00000000u + 16 * static_cast<unsigned>(rank) + index;
}

}  // namespace

SegmentAgreement::SegmentAgreement(const OwnRank& rank, LentMemory& lent, bool wanted)
    : OwnRank(rank), lent_(lent) {
  SegmentMemory* const memory = device_.segments();
  if (memory == nullptr || !wanted) return;
  try {
    test_ = memory->make(kTestSegments);
    auto* const words = test_words();
    for (std::size_t i = 0; i < kTestWords; ++i) device_.write(words + i, test_word(rank_, i));
    RankEntry& own = shared_.ranks[rank_];
    own.segments = lent_.place(words, kTestWords * sizeof *words, LentMemory::Owner::drop_in);
    own.lends_segments = own.segments.segments == kTestSegments ? 1 : 0;
  } catch (const Error& error) {
    why_not_ = error.what();
  }
}

std::uint64_t* SegmentAgreement::test_words() const {
  return reinterpret_cast<std::uint64_t*>(test_ + device_.segments()->granule()) - 1;
}

void SegmentAgreement::try_peers() {
  if (shared_.ranks[rank_].lends_segments == 0) return;
  try {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer != rank_) try_peer(peer);
    }
    shared_.ranks[rank_].maps_segments = 1;
  } catch (const Error& error) {
    why_not_ = error.what();
  }
}

void SegmentAgreement::try_peer(int peer) {
  const RankEntry& entry = shared_.ranks[peer];
  const std::string whose = "segments of rank " + std::to_string(peer);
  if (entry.lends_segments == 0) throw Unavailable(whose + " are not lent");
  BorrowedSegments borrowed(device_.segments(), shared_, shared_.ranks[rank_].process);
  const auto* const words =
      reinterpret_cast<const std::uint64_t*>(borrowed.address(peer, entry.segments));
  for (std::size_t i = 0; i < kTestWords; ++i) {
    if (device_.read(words + i) != test_word(peer, i)) {
      throw Unavailable(whose + " read as something else here");
    }
  }
}

void SegmentAgreement::agree() {
  bool all = true;
  for (int rank = 0; rank < ranks_; ++rank) all &= shared_.ranks[rank].maps_segments != 0;
  lent_.lend_segments(all);
  if (!all && why_not_.empty() && test_ != nullptr) {
    why_not_ = "another rank cannot";
  }
  end_test();
}

void SegmentAgreement::end_test() {
  if (test_ == nullptr) return;
  try {
    lent_.take_back(test_words(), kTestWords * sizeof(std::uint64_t));
  } catch (const Error&) {
    // The device has failed.
  }
  device_.segments()->destroy(test_, kTestSegments);
  test_ = nullptr;
}

}  // namespace duet::nccl_shim
