// An all_reduce that ends with a residual and RMSNorm, by the C interface.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "bindings/bindings_fixture.h"

namespace {

constexpr std::uint64_t kNormRow = 16, kNormElements = 3 * kNormRow;
constexpr double kEpsilon = 0.25;

duet_collective normed_sum() {
  duet_collective one{};
  one.size = sizeof one;
  one.kind = DUET_ALL_REDUCE;
  one.count = kNormElements;
  one.norm_columns = kNormRow;
  one.norm_epsilon = kEpsilon;
  return one;
}

// Memory of Duet's for each buffer of a call, freed with the object.
class NormBuffers {
 public:
  explicit NormBuffers(duet_rank* rank) {
    const std::uint64_t counts[] = {kNormElements, kNormElements, kNormElements, kNormElements,
                                    kNormRow};
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_EQ(duet_allocate(rank, counts[i] * sizeof(float), &all_[i]), DUET_OK);
    buffers = {sizeof buffers, data(0), bytes(0), data(1), bytes(1), data(2),
               bytes(2),       data(3), bytes(3), data(4), bytes(4)};
  }
  ~NormBuffers() {
    for (duet_memory* each : all_) duet_memory_free(each);
  }
  NormBuffers(const NormBuffers&) = delete;
  NormBuffers& operator=(const NormBuffers&) = delete;

  // Of the buffers in the struct's order.
  void write(std::size_t buffer, const std::vector<float>& values) {
    EXPECT_EQ(duet_memory_write(all_[buffer], 0, values.data(), bytes(buffer)), DUET_OK);
  }
  std::vector<float> read(std::size_t buffer) {
    std::vector<float> values(bytes(buffer) / sizeof(float));
    EXPECT_EQ(duet_memory_read(all_[buffer], 0, values.data(), bytes(buffer)), DUET_OK);
    return values;
  }

  duet_buffers buffers{};

 private:
  void* data(std::size_t i) { return duet_memory_data(all_[i]); }
  std::uint64_t bytes(std::size_t i) { return duet_memory_bytes(all_[i]); }

  duet_memory* all_[5] = {};
};

std::vector<float> residual_of_all() {
  std::vector<float> values(kNormElements);
  for (std::uint64_t i = 0; i < kNormElements; ++i) values[i] = static_cast<float>(i % 7) - 3;
  return values;
}

std::vector<float> weight_of_all() {
  std::vector<float> values(kNormRow);
  for (std::uint64_t i = 0; i < kNormRow; ++i) values[i] = static_cast<float>(i) / 8;
  return values;
}

// Of a sum that is the same in all elements.
void expect_normed(const std::vector<float>& updated, const std::vector<float>& normed, float sum) {
  const std::vector<float> residual = residual_of_all(), weight = weight_of_all();
  ASSERT_EQ(updated.size(), kNormElements);
  ASSERT_EQ(normed.size(), kNormElements);
  for (std::uint64_t begin = 0; begin < kNormElements; begin += kNormRow) {
    double squares = 0;
    for (std::uint64_t i = begin; i < begin + kNormRow; ++i) {
      EXPECT_EQ(updated[i], residual[i] + sum);
      squares += std::pow(residual[i] + sum, 2);
    }
    const double root = std::sqrt(squares / kNormRow + kEpsilon);
    for (std::uint64_t i = begin; i < begin + kNormRow; ++i)
      EXPECT_NEAR(normed[i], (residual[i] + sum) / root * weight[i - begin], 1e-5);
  }
}

void enqueue_and_retire(duet_rank* rank, duet_call* call) {
  duet_stream* stream = nullptr;
  ASSERT_EQ(duet_stream_open(rank, &stream), DUET_OK);
  EXPECT_EQ(duet_enqueue_on(call, stream), DUET_OK) << duet_last_error();
  EXPECT_EQ(duet_stream_synchronize(stream, 30), DUET_OK) << duet_last_error();
  EXPECT_EQ(duet_retire(rank, call), DUET_OK) << duet_last_error();
  duet_stream_close(stream);
}

void sum_and_normalise(void* ranks, duet_rank* rank, std::int32_t* done) {
  NormBuffers own(rank);
  own.write(0, std::vector<float>(kNormElements, 1));
  own.write(2, residual_of_all());
  own.write(4, weight_of_all());
  const duet_collective one = normed_sum();
  duet_call* call = nullptr;
  ASSERT_EQ(duet_plan_buffers(rank, &one, &own.buffers, &call), DUET_OK) << duet_last_error();
  enqueue_and_retire(rank, call);
  expect_normed(own.read(3), own.read(1), static_cast<float>(*static_cast<int*>(ranks)));
  EXPECT_EQ(own.read(2), residual_of_all());
  *done = 1;
}

TEST(Norms, FollowASumOnRealAndOnSimulatedMachines) {
  for (const char* device : {"host:2", "sim:h200-4"}) {
    duet_comm* comm = open_on(device);
    int ranks = ranks_of(comm);
    EXPECT_EQ(duet_comm_each(comm, sum_and_normalise, &ranks), DUET_OK) << duet_last_error();
    EXPECT_EQ(duet_comm_close(comm), DUET_OK) << duet_last_error();
  }
}

// Of the program's own memory what is the rank's alone, and the residual updated in place.
TEST(Norms, UpdateAResidualInTheProgramsMemory) {
  duet_comm* comm = open_on("host:3");
  with_ranks(comm, [&](duet_rank* rank, int) {
    NormBuffers own(rank);
    own.write(0, std::vector<float>(kNormElements, 1));
    std::vector<float> residual = residual_of_all(), weight = weight_of_all();
    own.buffers.residual = own.buffers.updated = residual.data();
    own.buffers.weight = weight.data();
    const duet_collective one = normed_sum();
    duet_call* call = nullptr;
    ASSERT_EQ(duet_plan_buffers(rank, &one, &own.buffers, &call), DUET_OK) << duet_last_error();
    enqueue_and_retire(rank, call);
    expect_normed(residual, own.read(1), 3);
  });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

struct WrongNorm {
  const char* says;
  std::function<void(duet_collective&, duet_buffers&)> change;
};

const std::vector<WrongNorm>& wrong_norms() {
  using C = duet_collective;
  using B = duet_buffers;
  static const std::vector<WrongNorm> all = {
      {"weight: 60 bytes: expected 64", [](C&, B& b) { b.weight_bytes = 60; }},
      {"residual: 0 bytes: expected 192", [](C&, B& b) { b.residual_bytes = 0; }},
      {"no memory to adopt", [](C&, B& b) { b.residual = nullptr; }},
      {"expected whole rows", [](C& c, B&) { c.norm_columns = 14; }},
      {"multiple of 8 bytes", [](C& c, B&) { c.norm_columns = 1; }},
      {"fp32, fp16 or bf16", [](C& c, B&) { c.dtype = DUET_INT32; }},
      {"a sum by all_reduce", [](C& c, B&) { c.op = DUET_MAX; }},
      {"a sum by all_reduce", [](C& c, B&) { c.kind = DUET_REDUCE_SCATTER; }},
      {"an epsilon of 0 or more", [](C& c, B&) { c.norm_epsilon = -1; }},
      {"an epsilon of 0 or more",
       [](C& c, B&) { c.norm_epsilon = std::numeric_limits<double>::quiet_NaN(); }},
      {"overlap neither", [](C&, B& b) { b.updated = b.recv; }},
      {"expected NULL where norm_columns is 0", [](C& c, B&) { c.norm_columns = 0; }},
      {"duet_buffers: a size of 0", [](C&, B& b) { b.size = 0; }},
  };
  return all;
}

// All ranks are told, and go on.
TEST(Norms, WrongArgumentsAreNamed) {
  duet_comm* comm = open_on("host:2");
  with_ranks(comm, [&](duet_rank* rank, int index) {
    NormBuffers own(rank);
    duet_call* call = nullptr;
    for (const WrongNorm& wrong : wrong_norms()) {
      duet_collective one = normed_sum();
      duet_buffers buffers = own.buffers;
      wrong.change(one, buffers);
      EXPECT_EQ(duet_plan_buffers(rank, &one, &buffers, &call), DUET_BAD_ARGUMENT) << wrong.says;
      EXPECT_TRUE(says(wrong.says)) << duet_last_error();
      EXPECT_FALSE(says("\n")) << duet_last_error();
      EXPECT_EQ(call, nullptr);
    }
    const duet_collective one = normed_sum();
    EXPECT_EQ(duet_plan(rank, &one, own.buffers.send, own.buffers.send_bytes, own.buffers.recv,
                        own.buffers.recv_bytes, &call),
              DUET_BAD_ARGUMENT);
    EXPECT_TRUE(says("residual: 0 bytes: expected 192")) << duet_last_error();
    EXPECT_EQ(duet_plan_buffers(rank, &one, index == 0 ? nullptr : &own.buffers, &call),
              DUET_BAD_ARGUMENT);
    EXPECT_TRUE(says("duet_buffers: expected a pointer")) << duet_last_error();
    EXPECT_EQ(duet_plan_buffers(rank, &one, &own.buffers, nullptr), DUET_BAD_ARGUMENT);
    EXPECT_EQ(duet_plan_buffers(nullptr, &one, &own.buffers, &call), DUET_BAD_ARGUMENT);
    ASSERT_EQ(duet_plan_buffers(rank, &one, &own.buffers, &call), DUET_OK) << duet_last_error();
    enqueue_and_retire(rank, call);
  });
  EXPECT_EQ(duet_comm_close(comm), DUET_OK);
}

}  // namespace
