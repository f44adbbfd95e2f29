// Compute beside collectives by the C interface. What is beside an all_gather here is another
// collective, the one work that a program in C can enqueue on every device.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bindings/bindings_fixture.h"

namespace {

constexpr std::uint64_t kElements = 5000;
constexpr const char* kPolicies[] = {"serial", "base", "priority", "zero-cta", "dma"};

// An all_gather of one number of each rank.
class GatherOf {
 public:
  GatherOf(duet_rank* rank, int ranks) : rank_(rank), ranks_(ranks) {
    const duet_collective one = all_gather_of(kElements);
    require(duet_allocate(rank, kElements * 4, &send_));
    require(duet_allocate(rank, kElements * 4 * static_cast<unsigned>(ranks), &recv_));
    require(duet_plan(rank, &one, duet_memory_data(send_), duet_memory_bytes(send_),
                      duet_memory_data(recv_), duet_memory_bytes(recv_), &call_));
  }
  GatherOf(const GatherOf&) = delete;
  GatherOf& operator=(const GatherOf&) = delete;
  ~GatherOf() {
    require(duet_retire(rank_, call_));
    duet_memory_free(send_);
    duet_memory_free(recv_);
  }

  duet_call* call() { return call_; }

  void fill(std::int32_t mine) {
    const std::vector<std::int32_t> values(kElements, mine);
    require(duet_memory_write(send_, 0, values.data(), kElements * 4));
    require(duet_barrier(rank_, "all ranks to have filled their buffers", 30));
  }
  // That rank r has sent `first` + r.
  void expect(std::int32_t first) {
    std::vector<std::int32_t> expected, found(kElements * static_cast<unsigned>(ranks_));
    for (int from = 0; from < ranks_; ++from) {
      expected.insert(expected.end(), kElements, first + from);
    }
    require(duet_memory_read(recv_, 0, found.data(), found.size() * 4));
    EXPECT_EQ(found, expected);
    require(duet_barrier(rank_, "all ranks to have looked", 30));
  }

 private:
  static void require(duet_status status) { ASSERT_EQ(status, DUET_OK) << duet_last_error(); }

  duet_rank* rank_;
  int ranks_;
  duet_memory *send_ = nullptr, *recv_ = nullptr;
  duet_call* call_ = nullptr;
};

// A rank's part of a test, with a stream and two all_gathers.
struct RankOf {
  duet_rank* rank;
  int index, ranks;
  duet_stream* stream;
  GatherOf& one;
  GatherOf& other;

  void fill(int round) {
    one.fill(100 * round + index);
    other.fill(100 * round + 50 + index);
  }
  void expect(int round) {
    EXPECT_EQ(duet_stream_synchronize(stream, 30), DUET_OK) << duet_last_error();
    one.expect(100 * round);
    other.expect(100 * round + 50);
  }
};

using Part = void (*)(RankOf&);

struct Run {
  Part part;
  int ranks;
};

void run_part(void* given, duet_rank* rank, std::int32_t* done) {
  const Run& run = *static_cast<Run*>(given);
  duet_rank_info info{};
  info.size = sizeof info;
  ASSERT_EQ(duet_rank_get_info(rank, &info), DUET_OK);
  duet_stream* stream = nullptr;
  ASSERT_EQ(duet_stream_open(rank, &stream), DUET_OK);
  {
    GatherOf one(rank, run.ranks), other(rank, run.ranks);
    RankOf own{rank, info.index, run.ranks, stream, one, other};
    run.part(own);
  }
  duet_stream_close(stream);
  *done = 1;
}

void on_each_machine(Part part) {
  for (const char* device : {"host:2", "sim:h200-4"}) {
    SCOPED_TRACE(device);
    duet_comm* comm = open_on(device);
    Run run{part, ranks_of(comm)};
    EXPECT_EQ(duet_comm_each(comm, run_part, &run), DUET_OK) << duet_last_error();
    EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
  }
}

TEST(COverlap, ACollectiveRunsBesideWhatTheProgramEnqueues) {
  on_each_machine([](RankOf& own) {
    for (const char* policy : kPolicies) {
      duet_overlap* overlap = nullptr;
      ASSERT_EQ(duet_overlap_open(own.rank, policy, 0, &overlap), DUET_OK) << duet_last_error();
      for (int round = 0; round < 3; ++round) {
        own.fill(round);
        EXPECT_EQ(duet_overlap_begin_on(overlap, own.one.call(), own.stream), DUET_OK);
        EXPECT_EQ(duet_enqueue_on(own.other.call(), own.stream), DUET_OK);
        EXPECT_EQ(duet_overlap_end(overlap), DUET_OK) << duet_last_error();
        own.expect(round);
      }
      duet_overlap_close(overlap);
    }
  });
}

void enqueue_other(void* own, duet_stream* stream, std::int32_t* done) {
  auto& rank = *static_cast<RankOf*>(own);
  EXPECT_EQ(duet_enqueue_on(rank.other.call(), stream), DUET_OK) << duet_last_error();
  *done = 1;
}

duet_overlap_work work_of(double workgroups, duet_call* call, duet_work_function enqueue,
                          void* user) {
  duet_overlap_work work{};
  work.size = sizeof work;
  work.workgroups = workgroups;
  work.call = call;
  work.enqueue = enqueue;
  work.user = user;
  return work;
}

TEST(COverlap, WorksAreFunctionsAndCalls) {
  on_each_machine([](RankOf& own) {
    for (const char* policy : kPolicies) {
      duet_overlap* overlap = nullptr;
      ASSERT_EQ(duet_overlap_open(own.rank, policy, 2, &overlap), DUET_OK) << duet_last_error();
      const duet_overlap_work works[] = {work_of(132, nullptr, enqueue_other, &own),
                                         work_of(0, own.one.call(), nullptr, nullptr)};
      own.fill(1);
      EXPECT_EQ(duet_overlap_enqueue_on(overlap, works, 2, own.stream), DUET_OK)
          << duet_last_error();
      own.expect(1);
      duet_overlap_close(overlap);
    }
  });
}

// The others are enqueued nevertheless, and the next call works.
TEST(COverlap, AWorkThatFailsHoldsNobodyUp) {
  on_each_machine([](RankOf& own) {
    duet_overlap* overlap = nullptr;
    ASSERT_EQ(duet_overlap_open(own.rank, "dma", 3, &overlap), DUET_OK) << duet_last_error();
    const auto fails = [](void*, duet_stream*, std::int32_t*) {};
    const duet_overlap_work works[] = {work_of(132, nullptr, fails, nullptr),
                                       work_of(0, own.one.call(), nullptr, nullptr),
                                       work_of(64, nullptr, enqueue_other, &own)};
    for (int round = 0; round < 2; ++round) {
      own.fill(round);
      EXPECT_EQ(duet_overlap_enqueue_on(overlap, works, 3, own.stream), DUET_ERROR);
      EXPECT_TRUE(says("the program's function failed")) << duet_last_error();
      own.expect(round);
    }
    duet_overlap_close(overlap);
  });
}

TEST(COverlap, WrongArgumentsAreNamed) {
  on_each_machine([](RankOf& own) {
    duet_overlap* overlap = nullptr;
    EXPECT_EQ(duet_overlap_open(nullptr, "dma", 0, &overlap), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_overlap_open(own.rank, "fast", 0, &overlap), DUET_USAGE_ERROR);
    EXPECT_EQ(duet_overlap_open(own.rank, "dma,base", 0, &overlap), DUET_USAGE_ERROR);
    EXPECT_TRUE(says("expected one")) << duet_last_error();
    EXPECT_EQ(duet_overlap_open(own.rank, "partition:8", 0, &overlap), DUET_UNAVAILABLE);
    EXPECT_EQ(duet_overlap_open(own.rank, "dma", -1, &overlap), DUET_BAD_ARGUMENT);
    EXPECT_EQ(overlap, nullptr);
    ASSERT_EQ(duet_overlap_open(own.rank, nullptr, 0, &overlap), DUET_OK) << duet_last_error();
    EXPECT_EQ(duet_overlap_end(overlap), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_overlap_begin_on(overlap, nullptr, own.stream), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_overlap_begin(overlap, own.one.call(), nullptr), DUET_UNAVAILABLE);
    duet_overlap_work both = work_of(1, own.one.call(), enqueue_other, &own);
    EXPECT_EQ(duet_overlap_enqueue_on(overlap, &both, 1, own.stream), DUET_BAD_ARGUMENT);
    both.size = 4;
    EXPECT_EQ(duet_overlap_enqueue_on(overlap, &both, 1, own.stream), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_overlap_enqueue_on(overlap, nullptr, 1, own.stream), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_overlap_enqueue_on(overlap, nullptr, -1, own.stream), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_overlap_enqueue_on(overlap, nullptr, 0, own.stream), DUET_OK);
    duet_overlap_close(overlap);
    duet_overlap_close(nullptr);
  });
}

TEST(COverlap, BelongsToItsCommunicator) {
  duet_comm* comm = open_on("host:1");
  duet_overlap* overlap = nullptr;
  ASSERT_EQ(duet_overlap_open(rank_of(comm, 0), "dma", 0, &overlap), DUET_OK);
  EXPECT_EQ(duet_comm_close(comm), DUET_BAD_ARGUMENT);
  duet_overlap_close(overlap);
  EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
}

TEST(COverlap, NamesTheEngineOfAPolicy) {
  duet_text* engine = nullptr;
  ASSERT_EQ(duet_overlap_engine("priority", "cuda:0,1", &engine), DUET_OK) << duet_last_error();
  EXPECT_STREQ(duet_text_data(engine), "nccl");
  duet_text_free(engine);
  ASSERT_EQ(duet_overlap_engine(nullptr, "host:2", &engine), DUET_OK) << duet_last_error();
  EXPECT_STREQ(duet_text_data(engine), "dma");
  duet_text_free(engine);
  EXPECT_EQ(duet_overlap_engine("base", "hots:2", &engine), DUET_USAGE_ERROR);
  EXPECT_TRUE(says("expected cuda, hip, host or sim")) << duet_last_error();
}

}  // namespace
