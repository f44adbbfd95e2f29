// The checker finds what is wrong, and says where.
#include "collectives/schedule/checker.h"

#include <gtest/gtest.h>

#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/picture.h"

namespace duet {
namespace {

constexpr int kReady = 0, kDone = 1, kRanks = 3;
constexpr std::uint64_t kBytes = 64;

// An all_gather of 3 ranks, one lane: steps 0 (signals ready), 1 (waits for it), 2 (a lane of its
// own for the local copy), 3 and 4 (pushes), 5 (the local copy), 6 (waits for done).
CollectiveSchedule good() {
  CollectiveSchedule all{{CollectiveKind::all_gather, DType::int8, Reduction::sum, kBytes, 0, {}},
                         {},
                         {false, false, false}};
  for (int rank = 0; rank < kRanks; ++rank) {
    all.ranks.push_back(direct_moves().schedule({all.collective, rank, kRanks, {}}));
  }
  return all;
}

// A reduce_scatter by a kernel that reads all send buffers, between two barriers.
CollectiveSchedule good_kernels() {
  CollectiveSchedule all{
      {CollectiveKind::reduce_scatter, DType::int32, Reduction::sum, 16, 0, {}}, {}, {}};
  for (int rank = 0; rank < kRanks; ++rank) {
    all.in_place.push_back(false);
    all.ranks.push_back(peer_kernels().schedule({all.collective, rank, kRanks, {}}));
  }
  return all;
}

Step& step(CollectiveSchedule& schedule, int rank, int number) {
  return schedule.ranks.at(static_cast<std::size_t>(rank))
      .steps.at(static_cast<std::size_t>(number));
}

void expect_fault(const CollectiveSchedule& schedule, const std::string& text) {
  const std::string fault = fault_of(schedule);
  EXPECT_NE(fault.find(text), std::string::npos) << "the fault: " << fault;
}

TEST(Checker, FindsNothingWrongWithAGoodSchedule) { EXPECT_EQ(fault_of(good()), ""); }

TEST(Checker, FindsAMissingCopy) {
  CollectiveSchedule wrong = good();
  step(wrong, 1, 3).copies.clear();
  expect_fault(wrong,
               "recv of rank 2 after call 0: byte 64 is what was there before the call, "
               "expected byte 0 of what rank 1 sends in call 0");
}

TEST(Checker, FindsADoubledCopy) {
  CollectiveSchedule wrong = good();
  step(wrong, 1, 3).copies.push_back(step(wrong, 1, 3).copies.front());
  expect_fault(wrong, "step 3 of rank 1 in call 0 writes a second time: recv of rank 2");
}

TEST(Checker, FindsAWrongOffset) {
  CollectiveSchedule wrong = good();
  step(wrong, 0, 3).copies.front().from.offset = 1;
  step(wrong, 0, 3).copies.front().from.bytes = step(wrong, 0, 3).copies.front().to.bytes = 63;
  expect_fault(wrong, "recv of rank 1 after call 0: byte 0 is byte 1 of what rank 0 sends");
}

TEST(Checker, FindsAPlaceOutsideABuffer) {
  CollectiveSchedule wrong = good();
  step(wrong, 0, 3).copies.front().to.offset = kRanks * kBytes - 1;
  expect_fault(wrong, "step 3 of rank 0 in call 0 is outside the buffer: recv of rank 1");
}

TEST(Checker, FindsWhatIsNotMapped) {
  CollectiveSchedule wrong = good();
  for (RankSchedule& each : wrong.ranks) each.pushes_to_recv = false;
  expect_fault(wrong, "step 3 of rank 0 accesses what is not mapped: recv of rank 1");
  wrong = good();
  step(wrong, 0, 3).copies.front().from.rank = 2;
  expect_fault(wrong, "step 3 of rank 0 accesses what is not mapped: send of rank 2");
}

TEST(Checker, FindsRanksThatDoNotAgree) {
  CollectiveSchedule wrong = good();
  wrong.ranks[1].semaphores[kReady].count = 2;
  expect_fault(wrong, "rank 1 has other semaphores, slots or mappings than rank 0");
  wrong = good();
  wrong.ranks[2].may_share_memory = true;
  expect_fault(wrong, "rank 2 has other semaphores, slots or mappings than rank 0");
  wrong = good_kernels();
  step(wrong, 1, 0).kernel.packets = {{}, {}, {}};
  expect_fault(wrong, "rank 1 has other semaphores, slots or mappings than rank 0");
}

TEST(Checker, FindsCopiesOfTwoRanksSwapped) {
  CollectiveSchedule wrong = good();
  std::swap(step(wrong, 0, 3).copies.front().to.offset, step(wrong, 1, 4).copies.front().to.offset);
  EXPECT_NE(fault_of(wrong), "");
}

TEST(Checker, FindsAReceiverThatGetsItTooEarly) {
  CollectiveSchedule wrong = good();
  step(wrong, 1, 1).waits.erase(step(wrong, 1, 1).waits.begin());
  expect_fault(wrong, "ready of rank 1 for rank 2: call 0 has 1 more signals than waits");
  std::vector<SemaphoreAt>& signals = step(wrong, 2, 0).signals;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (signals[i].owner == 1) signals.erase(signals.begin() + static_cast<std::ptrdiff_t>(i));
  }
  expect_fault(wrong, "may signal it before");
}

TEST(Checker, FindsASignalBeforeItsCopy) {
  CollectiveSchedule wrong = good();
  std::vector<SemaphoreAt> early = std::move(step(wrong, 0, 4).signals);
  step(wrong, 0, 4).signals.clear();
  step(wrong, 0, 1).signals = std::move(early);
  expect_fault(wrong, "nothing orders them");
}

TEST(Checker, FindsADeadlock) {
  CollectiveSchedule wrong = good();
  // Every rank waits for `done` before it pushes.
  for (int rank = 0; rank < kRanks; ++rank) {
    std::vector<SemaphoreAt>& last = step(wrong, rank, 6).waits;
    std::vector<SemaphoreAt>& first = step(wrong, rank, 1).waits;
    first.insert(first.end(), last.begin(), last.end());
    last.clear();
  }
  expect_fault(wrong, "deadlock: step");
}

TEST(Checker, FindsTwoRanksOrdersReversed) {
  CollectiveSchedule wrong = good();
  // Rank 0 signals `ready` when it has been told `done`, and rank 1 needs the former for the
  // latter.
  step(wrong, 0, 6).signals = std::move(step(wrong, 0, 0).signals);
  step(wrong, 0, 0).signals.clear();
  expect_fault(wrong, "deadlock: step");
}

TEST(Checker, FindsASemaphoreThatIsLeft) {
  CollectiveSchedule wrong = good();
  step(wrong, 0, 4).signals.push_back({kReady, 0, 0, 0});
  expect_fault(wrong, "ready of rank 0 for rank 0: call 0 has 1 more signals than waits");
}

TEST(Checker, FindsASemaphoreSignalledByTwoRanks) {
  CollectiveSchedule wrong = good();
  step(wrong, 0, 4).signals.push_back({kDone, 2, 1, 0});
  step(wrong, 2, 6).waits.push_back({kDone, 2, 1, 0});
  expect_fault(wrong, "done of rank 2 for rank 1: signalled by two ranks");
}

TEST(Checker, FindsAWaitForAnotherRanksSemaphore) {
  CollectiveSchedule wrong = good();
  step(wrong, 0, 6).waits.push_back({kDone, 1, 2, 0});
  expect_fault(wrong,
               "step 6 of rank 0: waits for done of rank 1 for rank 2, which is not its own");
}

TEST(Checker, FindsALaneThatDoesNotForkOrJoin) {
  CollectiveSchedule wrong = good();
  step(wrong, 0, 2).after.clear();
  expect_fault(wrong, "step 2 of rank 0: its lane does not fork from the caller's stream");
  wrong = good();
  step(wrong, 0, 6).after.clear();
  expect_fault(wrong, "step 5 of rank 0: its lane does not join the caller's stream");
}

TEST(Checker, FindsAnEdgeToALaterStep) {
  CollectiveSchedule wrong = good();
  step(wrong, 0, 2).after = {4};
  expect_fault(wrong, "step 2 of rank 0 is after step 4, which is not enqueued before it");
}

// Lanes alone could run it: through one queue the wait of lane 1 stands before what ends it.
TEST(Checker, FindsADeadlockOfDevicesWithOneQueue) {
  CollectiveSchedule wrong = good();
  for (int rank = 0; rank < kRanks; ++rank) {
    const int left = (rank + kRanks - 1) % kRanks;
    step(wrong, rank, 2).waits.push_back({kDone, rank, rank, 0});
    step(wrong, rank, 3).signals.push_back({kDone, left, left, 0});
  }
  expect_fault(wrong, "deadlock where all lanes of a device run through one queue");
}

// What is only for speed does not count as order.
TEST(Checker, DoesNotRelyOnWhatIsOnlyForSpeed) {
  CollectiveSchedule wrong = good();
  for (RankSchedule& each : wrong.ranks) each.semaphores[kDone].only_for_speed = true;
  expect_fault(wrong, "may signal it before");
}

TEST(Checker, FindsKernelsWithoutABarrier) {
  EXPECT_EQ(fault_of(good_kernels()), "");
  CollectiveSchedule wrong = good_kernels();
  for (RankSchedule& rank : wrong.ranks) rank.steps.front().kernel.barriers->opens = false;
  expect_fault(wrong, "nothing orders them");
  wrong = good_kernels();
  for (RankSchedule& rank : wrong.ranks) rank.steps.front().kernel.barriers->closes = false;
  expect_fault(wrong,
               "the caller of rank 0 before call 1 writes it, which item 0 of step 0 of rank 1");
  wrong = good_kernels();
  step(wrong, 1, 0).kernel.barriers->closes = false;
  expect_fault(wrong, "call 0 has 1 more signals than waits");
}

TEST(Checker, FindsWordsThatAreNotForTheKernel) {
  CollectiveSchedule wrong = good_kernels();
  step(wrong, 1, 0).kernel.blocks += 1;
  expect_fault(wrong,
               "step 0 of rank 1: barrier of rank 1 for rank 2 has 16 words for blocks, "
               "expected 17");
  wrong = good_kernels();
  for (RankSchedule& rank : wrong.ranks) rank.semaphores.front().counts = false;
  expect_fault(wrong, "step 0 of rank 0: barrier is not for barriers");
  wrong = good();
  for (RankSchedule& rank : wrong.ranks) rank.semaphores[kReady].blocks = 4;
  expect_fault(wrong, "ready of rank 2 for rank 0 has 4 words for blocks, expected 0");
}

TEST(Checker, FindsKernelsOfAFormThatDevicesDoNotHave) {
  CollectiveSchedule wrong = good_kernels();
  for (RankSchedule& rank : wrong.ranks) {
    rank.steps.push_back(rank.steps.front());
    rank.steps.back().kernel.items.clear();
  }
  expect_fault(wrong, "step 1 of rank 0: barrier counts the calls of another kernel");
  wrong = good_kernels();
  for (RankSchedule& rank : wrong.ranks) {
    rank.semaphores.push_back({"ready"});
    StepItem& item = rank.steps.front().kernel.items.front();
    item.signals = {{1, (rank.rank + 1) % kRanks, rank.rank, 0}};
    item.waits = {{1, rank.rank, (rank.rank + 2) % kRanks, 0}};
  }
  expect_fault(wrong, "step 0 of rank 0: items of a kernel with barriers have semaphores");
  wrong = good();
  for (RankSchedule& rank : wrong.ranks) rank.semaphores[kReady].counts = true;
  expect_fault(wrong, "ready of rank 2 for rank 0 counts, and is for barriers alone");
  wrong = good_kernels();
  for (RankSchedule& rank : wrong.ranks) rank.semaphores.front().initial = 1;
  expect_fault(wrong, "rank 0: barrier begins with 1, expected 0");
  wrong = good_kernels();
  for (RankSchedule& rank : wrong.ranks) rank.may_share_memory = true;
  expect_fault(wrong, "rank 0: barrier counts, and cannot be shared");
}

TEST(Checker, FindsAnotherOperation) {
  CollectiveSchedule wrong = good_kernels();
  step(wrong, 2, 0).kernel.op = Reduction::max;
  expect_fault(wrong, "step 0 of rank 2 reduces int32 by max, expected int32 by sum");
}

TEST(Checker, FindsAPeerWhereNoneIsNamed) {
  CollectiveSchedule wrong = good();
  for (RankSchedule& rank : wrong.ranks) rank.semaphores[kDone].for_every_rank = false;
  expect_fault(wrong, "a semaphore that does not exist");
}

TEST(Checker, FindsCopiesFromOthersThatAreNotCounted) {
  CollectiveSchedule wrong = good();
  for (RankSchedule& rank : wrong.ranks) rank.reads_send = true;
  step(wrong, 0, 5).copies.front().from.rank = 1;
  expect_fault(wrong, "rank 1 counts 0 bytes that others read, which are 64");
}

TEST(Checker, FindsItemsSideBySideThatAccessTheSameBytes) {
  CollectiveSchedule wrong = good_kernels();
  std::vector<StepItem>& items = step(wrong, 1, 0).kernel.items;
  items.push_back(items.front());
  items.back().sources.resize(1);
  expect_fault(wrong,
               "item 1 of step 0 of rank 1 in call 0 writes it, which item 0 of step 0 of "
               "rank 1 in call 0 writes: nothing orders them");
}

TEST(Checker, FindsReadsThatAreNotCounted) {
  CollectiveSchedule wrong = good_kernels();
  wrong.ranks[2].read_by_others = 64;
  expect_fault(wrong, "rank 2 counts 64 bytes that others read, which are 128");
}

// Two kernels on two lanes signal the same words: the later number may come first.
TEST(Checker, FindsCountsOutOfOrder) {
  CollectiveSchedule wrong = good_kernels();
  for (RankSchedule& rank : wrong.ranks) {
    Step second = rank.steps.front();
    second.kernel.items.clear();
    second.lane = 1;
    rank.steps.insert(rank.steps.begin(), {Step{}, Step{}});
    rank.steps[1].lane = 1;
    rank.steps[1].after = {0};
    rank.steps.push_back(second);
    Step join;
    join.after = {3};
    rank.steps.push_back(join);
  }
  const std::string fault = fault_of(CheckedCalls{{&wrong, &wrong}, false});
  EXPECT_NE(fault.find("may signal it before"), std::string::npos) << fault;
}

// What is wrong is to be seen, also where nothing could run.
TEST(Picture, ShowsAFaultySchedule) {
  CollectiveSchedule wrong = good();
  step(wrong, 0, 6).signals = std::move(step(wrong, 0, 0).signals);
  expect_fault(wrong, "deadlock");
  const std::string picture = picture_of(wrong, {0, 1}, 120);
  EXPECT_NE(picture.find("   6  0 signal ready -> all\n"), std::string::npos) << picture;
  EXPECT_NE(picture.find("   3  0 copy send+0 -> recv@1+0, 64 B\n"), std::string::npos) << picture;
}

// A block goes on to the next item of a local kernel alone.
class ItemsOfALocalKernel : public ::testing::Test {
 protected:
  ItemsOfALocalKernel() {
    all_.collective = {CollectiveKind::all_gather, DType::int8, Reduction::sum, 64, 0, {}};
    all_.in_place = {false};
    RankSchedule schedule;
    schedule.semaphores = {{"stored"}, {"early"}};
    schedule.slot_bytes = 64;
    Step early, kernel;
    early.signals = {{1, 0, 0, 0}};
    const Place slot{BufferRole::slots, 0, 0, 64};
    kernel.kernel.items = {{{}, {{BufferRole::send, 0, 0, 64}}, {slot}, {}},
                           {{}, {slot}, {{BufferRole::recv, 0, 0, 64}}, {}}};
    kernel.kernel.items[1].waits = {{1, 0, 0, 0}};
    schedule.steps = {early, kernel};
    all_.ranks = {schedule};
  }

  StepItem& item(std::size_t number) { return all_.ranks[0].steps[1].kernel.items[number]; }

  CollectiveSchedule all_;
};

TEST_F(ItemsOfALocalKernel, AreNotInOrderByAWaitForSomethingElse) {
  EXPECT_NE(fault_of(all_).find("nothing orders them"), std::string::npos) << fault_of(all_);
}

TEST_F(ItemsOfALocalKernel, AreInOrderBehindASignalOfTheEarlierOne) {
  item(0).signals = {{0, 0, 0, 0}};
  item(1).waits.push_back({0, 0, 0, 0});
  EXPECT_EQ(fault_of(all_), "");
}

TEST_F(ItemsOfALocalKernel, AreInOrderWhereBlocksHaveSemaphoresOfTheirOwn) {
  all_.ranks[0].steps[0].signals.clear();
  item(1).waits.clear();
  all_.ranks[0].steps[1].kernel.by_block = true;
  EXPECT_EQ(fault_of(all_), "");
}

}  // namespace
}  // namespace duet
