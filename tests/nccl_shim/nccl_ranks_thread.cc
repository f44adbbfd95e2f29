// Parts of nccl_ranks.cc whose ranks are of one thread.
#include <cstdio>
#include <memory>
#include <vector>

#include "nccl_ranks.h"

namespace nccl_ranks {

namespace {

// All of `all` are of one communicator, or of several that have as many ranks each.
void calls_in_groups(const std::vector<Rank>& all) {
  for (int number = 0; number < 12; ++number) {
    std::vector<std::unique_ptr<Step>> steps;
    must(ncclGroupStart(), "ncclGroupStart");
    for (const Rank& each : all) {
      steps.push_back(
          std::make_unique<Step>(each.rank, each.ranks, number, number % 2 == 0 ? kLarge : kSmall));
      steps.back()->fill(each.streams[0]);
      steps.back()->gather(each.comm, each.streams[0]);
    }
    must(ncclGroupEnd(), "ncclGroupEnd");
    for (std::size_t i = 0; i < all.size(); ++i) steps[i]->check(all[i].streams[0]);
    for (const Rank& each : all) each.synchronise();
  }
}

// A group in which all calls of one rank come before those of the next, more than a rank may be
// ahead of another.
void rank_by_rank(const std::vector<Rank>& all) {
  constexpr int kCalls = 1100;
  std::vector<std::unique_ptr<Step>> steps;
  must(ncclGroupStart(), "ncclGroupStart");
  for (const Rank& each : all) {
    steps.push_back(std::make_unique<Step>(each.rank, each.ranks, 1, kLarge));
    steps.back()->fill(each.streams[0]);
    for (int i = 0; i < kCalls; ++i) steps.back()->gather(each.comm, each.streams[0]);
  }
  must(ncclGroupEnd(), "ncclGroupEnd");
  for (std::size_t i = 0; i < all.size(); ++i) steps[i]->check(all[i].streams[0]);
  for (const Rank& each : all) each.synchronise();
}

// Ranks of odd numbers, and those of even ones.
void split_in_group(const std::vector<Rank>& all) {
  std::vector<Rank> parts;
  for (const Rank& each : all)
    parts.push_back({each.rank / 2, each.ranks / 2, nullptr, each.streams});
  must(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t i = 0; i < all.size(); ++i) {
    must(ncclCommSplit(all[i].comm, all[i].rank % 2, all[i].rank, &parts[i].comm, nullptr),
         "ncclCommSplit");
  }
  must(ncclGroupEnd(), "ncclGroupEnd");
  calls_in_groups(parts);
  for (const Rank& each : parts) must(ncclCommDestroy(each.comm), "ncclCommDestroy");
}

}  // namespace

// All ranks in one process and one thread, as nccl-tests with -g: everything is in groups.
int one_thread(int ranks, const ncclUniqueId& id, By by) {
  std::vector<Rank> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back({rank, ranks, nullptr, {}});
  must(ncclGroupStart(), "ncclGroupStart");
  for (Rank& each : all) {
    host_gpu_set_device(each.rank);
    each.streams.push_back(host_gpu_create_stream());
    if (by != By::init_all)
      must(ncclCommInitRank(&each.comm, ranks, id, each.rank), "ncclCommInitRank");
  }
  must(ncclGroupEnd(), "ncclGroupEnd");
  if (by == By::init_all) {
    std::vector<ncclComm_t> comms(all.size());
    must(ncclCommInitAll(comms.data(), ranks, nullptr), "ncclCommInitAll");
    for (std::size_t i = 0; i < all.size(); ++i) all[i].comm = comms[i];
  }
  if (by == By::messages) {
    messages_in_groups(all);
  } else {
    calls_in_groups(all);
  }
  if (by == By::split) split_in_group(all);
  if (by == By::init_then_rank_by_rank) rank_by_rank(all);
  for (const Rank& each : all) must(ncclCommDestroy(each.comm), "ncclCommDestroy");
  std::printf("all ranks: %d calls by NCCL\n", fake_nccl_calls());
  return failures;
}

}  // namespace nccl_ranks
