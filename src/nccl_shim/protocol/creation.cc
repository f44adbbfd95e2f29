#include "nccl_shim/protocol/creation.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace duet::nccl_shim {
namespace {

constexpr std::uint32_t kTestRow = kRows - 1;  // rows are taken from the other end

std::uint64_t test_value(int rank) { return 0x6475657400000000u + static_cast<unsigned>(rank); }

}  // namespace

std::uint64_t hash_bytes(const void* bytes, std::size_t count, std::uint64_t start) {
  std::uint64_t hash = start;
  for (std::size_t i = 0; i < count; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3u;
  }
  return hash;
}

std::string shared_memory_name(const void* bytes, std::size_t count, const std::string& part) {
  std::string name = "duet-nccl-";
  for (const std::uint64_t start : {0xcbf29ce484222325u, 0x9ae16a3b2f90404fu}) {
    const std::uint64_t hash =
        hash_bytes(part.data(), part.size(), hash_bytes(bytes, count, start));
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    name += text;
  }
  return name;
}

Creation::Creation(ShimDevice& device, const std::string& name, int rank, int ranks,
                   std::uint64_t settings, const Method& wanted)
    : device_(device), rank_(rank), ranks_(ranks), wanted_(wanted) {
  if (ranks > kMostRanks) {
    throw Unavailable(std::to_string(ranks) + " ranks, at most " + std::to_string(kMostRanks) +
                      " are supported");
  }
  shared_ = SharedMemory::open(name);
  RankEntry& entry = (*shared_)->ranks[rank];
  entry.version = kSharedVersion;
  entry.ranks = static_cast<std::uint32_t>(ranks);
  entry.process = getpid();
  entry.process_space = process_space();
  entry.device = device.identity();
  entry.settings = settings;
  entry.reduces = wanted.reduces && device.can_reduce() ? 1 : 0;
  entry.exchanges_packets = wanted.most_by_packets > 0 && device.can_exchange_packets() ? 1 : 0;
  entry.exchanges_chunks = wanted.has_chunks() && device.can_exchange_chunks() ? 1 : 0;
  set_stage(Stage::joined);
  if ((*shared_)->joined.fetch_add(1) + 1 == static_cast<std::uint32_t>(ranks)) shared_->unlink();
}

// Who has agreed is expected in calls.
Creation::~Creation() {
  const bool has_agreed = (*shared_)->ranks[rank_].stage.load() == Stage::agreed;
  if (given_up_ && !has_agreed) set_stage(Stage::refused);
  if (given_up_ && has_agreed && copies_ != nullptr) copies_->break_with("ended");
  shared_->unlink();
  release_test_memory();
}

void Creation::release_test_memory() {
  if (test_memory_ != nullptr) device_.free(test_memory_);
  test_memory_ = nullptr;
}

int Creation::announced() const { return static_cast<int>((*shared_)->joined.load()); }

bool Creation::wait_announced(double seconds, const std::function<bool()>& refused) const {
  for (const double end = steady_now() + seconds; announced() < ranks_;) {
    if (refused()) return false;
    if (steady_now() > end) {
      throw Timeout("waited " + std::to_string(static_cast<int>(seconds)) + " s for " +
                    std::to_string(ranks_) + " ranks, of which " + std::to_string(announced()) +
                    " have come");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

bool Creation::all_announced() {
  shared_->unlink();
  reason_ = announced() == ranks_
                ? difference()
                : "not all ranks are on this machine with the drop-in and one /dev/shm";
  return reason_.empty();
}

void Creation::offer() {
  try {
    test_memory_ = static_cast<std::uint64_t*>(device_.allocate(sizeof(std::uint64_t)));
    device_.write(test_memory_, test_value(rank_));
    MemoryRow& row = (*shared_)->rows[rank_][kTestRow];
    const Allocation allocation = device_.allocations(test_memory_, sizeof(std::uint64_t)).front();
    row.base = allocation.base;
    row.bytes = allocation.bytes;
    row.memory = device_.export_memory(allocation);
  } catch (const Error& error) {
    reason_ = error.what();
  }
  set_stage(reason_.empty() ? Stage::offered : Stage::refused);
}

// All ranks see the same entries, and so the same difference.
std::string Creation::difference() const {
  const RankEntry& own = (*shared_)->ranks[rank_];
  for (int peer = 0; peer < ranks_; ++peer) {
    const RankEntry& entry = (*shared_)->ranks[peer];
    if (entry.version != own.version || entry.ranks != own.ranks) {
      return "ranks have different versions of the drop-in";
    }
    if (entry.together != own.together) {
      return "not all ranks create it together with the same others";
    }
    if (entry.settings != own.settings) return "ranks have different settings (DUET_NCCL_...)";
    if (entry.process_space != own.process_space) return "ranks are in different containers";
    for (int other = 0; other < peer; ++other) {
      if (entry.device == (*shared_)->ranks[other].device) return "two ranks have one device";
    }
  }
  return "";
}

// All ranks see the same entries.
Method Creation::agreed_method() const {
  Method agreed = wanted_;
  for (int peer = 0; peer < ranks_; ++peer) {
    const RankEntry& entry = (*shared_)->ranks[peer];
    agreed.reduces &= entry.reduces != 0;
    if (entry.exchanges_packets == 0) agreed.most_by_packets = 0;
    if (entry.exchanges_chunks == 0) agreed.chunks = {};
  }
  if (!agreed.reduces && !agreed.staged) agreed.piece_bytes = 0;
  return agreed;
}

void Creation::try_peers(double seconds) {
  wait_for_all(Stage::offered, seconds, "lend memory");
  for (int peer = 0; peer < ranks_ && reason_.empty(); ++peer) {
    if (peer == rank_) continue;
    try {
      try_peer(peer);
    } catch (const Error& error) {
      reason_ = "memory of rank " + std::to_string(peer) + ": " + error.what();
    }
  }
  try {
    if (reason_.empty()) {
      copies_ = std::make_unique<PairCopies>(device_, shared_, rank_, ranks_, agreed_method());
    }
  } catch (const Error& error) {
    reason_ = error.what();
  }
  set_stage(reason_.empty() ? Stage::lent : Stage::refused);
}

void Creation::map_slots(double seconds) {
  wait_for_all(Stage::lent, seconds, "map each other's memory");
  refuse_with_peers();
  try {
    if (reason_.empty()) {
      copies_->map_slots();
      copies_->try_segments();
    }
  } catch (const Error& error) {
    reason_ = error.what();
  }
  set_stage(reason_.empty() ? Stage::agreed : Stage::refused);
}

void Creation::try_peer(int peer) {
  if ((*shared_)->ranks[peer].stage.load(std::memory_order_acquire) == Stage::refused) {
    throw Unavailable("it cannot lend any");
  }
  const MemoryRow& row = (*shared_)->rows[peer][kTestRow];
  const bool here = (*shared_)->ranks[peer].process == getpid();
  void* base =
      here ? reinterpret_cast<void*>(row.base) : device_.import_memory(row.memory, row.bytes);
  if (here) device_.reach(base);
  const std::uint64_t found = device_.read(static_cast<std::uint64_t*>(base));
  if (!here) device_.unimport_memory(base, row.bytes);
  if (found != test_value(peer)) throw Unavailable("it reads as something else here");
}

std::unique_ptr<PairCopies> Creation::finish(double seconds) {
  wait_for_all(Stage::agreed, seconds, "map each other's slots");
  refuse_with_peers();
  if (!reason_.empty()) return nullptr;
  copies_->agree_on_segments();
  return std::move(copies_);
}

void Creation::refuse_with_peers() {
  for (int peer = 0; peer < ranks_; ++peer) {
    if ((*shared_)->ranks[peer].stage.load(std::memory_order_acquire) != Stage::refused) continue;
    if (reason_.empty()) reason_ = "rank " + std::to_string(peer) + " cannot";
  }
}

void Creation::set_stage(Stage stage) {
  (*shared_)->ranks[rank_].stage.store(stage, std::memory_order_release);
}

void Creation::wait_for_all(Stage stage, double seconds, const char* step) {
  const double end = steady_now() + seconds;
  for (int peer = 0; peer < ranks_; ++peer) {
    const RankEntry& entry = (*shared_)->ranks[peer];
    const PeerProcess process(entry.process);
    const auto has_reached = [&] { return entry.stage.load(std::memory_order_acquire) >= stage; };
    while (!has_reached()) {
      if (given_up_) throw PeerFailed("it has been ended");
      const std::string who = "rank " + std::to_string(peer);
      // Looked at once more, so that all ranks find the same last stage of a process that has
      // ended.
      if (process.has_ended() && !has_reached()) {
        throw PeerFailed("the process of " + who + " has ended");
      }
      if (steady_now() > end) {
        throw Timeout("waited " + std::to_string(static_cast<int>(seconds)) + " s for " + who +
                      " to " + step);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

}  // namespace duet::nccl_shim
