// Copies by SDMA engines that Duet chooses.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/message_fixture.h"
#include "device/graph.h"
#include "device/machine.h"
#include "device/memory_descriptor.h"
#include "fake_gpu/hip/runtime.h"
#include "fake_gpu/variable.h"

namespace duet {
namespace {

constexpr double kSdmaDeadline = 60;
constexpr std::size_t kCopied = 300'000;
constexpr Fill kNothing{FillKind::constant, 0, 0, DType::fp32};

Fill pattern(std::uint64_t seed) { return {FillKind::pattern, seed, 0, DType::fp32}; }

class Sdma : public ::testing::Test {
 protected:
  Sdma() : machine_(open_machine("hip")) {
    for (int i = 0; i < machine_->size(); ++i) {
      memory_.push_back(machine_->device(i).allocate(kCopied));
    }
  }
  Device& device(int i) { return machine_->device(i); }
  Copy copy(std::size_t to, std::size_t from) const {
    return {memory_[to].span(), memory_[from].span(), Executor::sdma, {}};
  }
  std::set<std::string> engines_to_peers(int from) {
    std::set<std::string> engines;
    for (int to = 0; to < machine_->size(); ++to) {
      if (to == from) continue;
      const Copy one = copy(static_cast<std::size_t>(to), static_cast<std::size_t>(from));
      const std::string engine = device(from).copy_engine(one);
      EXPECT_EQ(device(to).copy_engine(one), engine) << "pulled: the source's GPU copies";
      EXPECT_EQ(device(from).copy_engine(one), engine) << "is kept";
      engines.insert(engine);
    }
    return engines;
  }

  std::unique_ptr<Machine> machine_;
  std::vector<Buffer> memory_;
};

TEST_F(Sdma, EachPairKeepsAnEngineOfItsOwn) {
  EXPECT_EQ(engines_to_peers(0),
            (std::set<std::string>{"SDMA 2 of hip:0", "SDMA 4 of hip:0", "SDMA 6 of hip:0"}));
  EXPECT_EQ(engines_to_peers(2).count("SDMA 2 of hip:2"), 1u);
}

TEST_F(Sdma, PairsShareNoEngineWhereNoneIsRecommended) {
  const Variable setting("DUET_STANDIN", "no-advice");
  EXPECT_EQ(engines_to_peers(1).size(), static_cast<std::size_t>(machine_->size() - 1));
}

// A kernel writes, an engine reads: without a release to system scope the stand-in ends the
// process.
TEST_F(Sdma, ReadsWhatAKernelHasJustWritten) {
  const auto stream = device(0).make_stream();
  for (std::uint64_t round = 1; round <= 20; ++round) {
    stream->fill(memory_[0].span(), pattern(round));
    stream->copy(copy(1, 0));
    stream->synchronize(kSdmaDeadline);
    ASSERT_FALSE(device(1).check(memory_[1].span(), pattern(round)).has_value()) << round;
  }
}

// What follows on the stream waits for the copy.
TEST_F(Sdma, HoldsTheStreamUntilTheBytesHaveArrived) {
  const auto stream = device(1).make_stream();
  const Buffer seen = device(1).allocate(kCopied);
  const auto filling = device(0).make_stream();
  for (std::uint64_t round = 1; round <= 20; ++round) {
    filling->fill(memory_[0].span(), pattern(round));
    filling->synchronize(kSdmaDeadline);
    stream->fill(memory_[1].span(), kNothing);
    stream->copy(copy(1, 0));
    stream->copy({seen.span(), memory_[1].span(), Executor::kernel, {}});
    stream->synchronize(kSdmaDeadline);
    ASSERT_FALSE(device(1).check(seen.span(), pattern(round)).has_value()) << round;
  }
}

TEST_F(Sdma, MoreCopiesThanTicketsWaitBehindAGate) {
  constexpr std::size_t kCopies = 150, kPart = 64;
  Buffer gate = device(0).allocate(8, MemoryKind::pinned);
  device(0).write(gate.span(), std::vector<std::byte>(8).data());
  const auto stream = device(0).make_stream();
  stream->fill(memory_[0].span(), pattern(3));
  stream->fill(memory_[1].span(), kNothing);
  stream->wait(semaphore_at(gate, 0), 1);
  for (std::size_t i = 0; i < kCopies; ++i) {
    stream->copy({memory_[1].slice(i * kPart, kPart),
                  memory_[0].slice(i * kPart, kPart),
                  Executor::sdma,
                  {}});
  }
  EXPECT_FALSE(stream->idle());
  device(0).signal(semaphore_at(gate, 0), 1);
  stream->synchronize(kSdmaDeadline);
  EXPECT_FALSE(device(1).check(memory_[1].slice(0, kCopies * kPart), pattern(3)).has_value());
}

TEST_F(Sdma, SaysWhatItCannotCopy) {
  const auto stream = device(0).make_stream();
  const Buffer pageable = device(0).allocate(kCopied, MemoryKind::pageable),
               pinned = device(0).allocate(kCopied, MemoryKind::pinned);
  const auto refuses = [&](const Copy& refused) {
    EXPECT_THROW(stream->copy(refused), Unavailable);
    EXPECT_THROW(device(0).copy_engine(refused), Unavailable);
  };
  refuses({memory_[0].span(), pageable.span(), Executor::sdma, {}});
  refuses({pinned.span(), pinned.span(), Executor::sdma, {}});
  EXPECT_THROW(capture(*stream, [&] { stream->copy(copy(1, 0)); }), Unavailable);
  stream->copy(copy(1, 0));
  stream->synchronize(kSdmaDeadline);
}

// A process that has the same memory as this one and sleeps, so that this one can import its own
// memory as if it were the other's.
class SleepingProcess {
 public:
  SleepingProcess() : id_(fork()) {
    while (id_ == 0) pause();
    if (id_ < 0) throw Error("fork failed");
  }
  ~SleepingProcess() {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  SleepingProcess(const SleepingProcess&) = delete;
  SleepingProcess& operator=(const SleepingProcess&) = delete;

  MemoryDescriptor descriptor_of(const Buffer& buffer) const {
    MemoryDescriptor all = buffer.span().owner->export_memory(buffer.span());
    all.process = id_;
    std::string& text = all.segments.at(0).handle;
    fake_gpu::Handle handle;
    std::memcpy(&handle, text.data(), sizeof handle);
    handle.process = id_;
    std::memcpy(text.data(), &handle, sizeof handle);
    return all;
  }

 private:
  pid_t id_;
};

class SdmaWithProcesses : public Sdma {
 protected:
  // Memory of device 2, imported by device 0.
  SdmaWithProcesses() : imported_(device(0).import_memory(process_.descriptor_of(memory_[2]))) {}
  ~SdmaWithProcesses() override { close(); }
  void close() {
    if (imported_.data != nullptr) device(0).close_import(imported_);
    imported_ = {};
  }
  // Copies what a kernel has just written and lets another one read it.
  void copies(const Copy& one, const Buffer& source, const Buffer& destination) {
    const auto stream = device(0).make_stream();
    const auto filling = source.span().owner->make_stream();
    for (std::uint64_t round = 1; round <= 5; ++round) {
      filling->fill(source.span(), pattern(round));
      filling->synchronize(kSdmaDeadline);
      stream->copy(one);
      stream->synchronize(kSdmaDeadline);
      ASSERT_FALSE(destination.span().owner->check(destination.span(), pattern(round))) << round;
    }
  }

  SleepingProcess process_;
  Span imported_;
};

TEST_F(SdmaWithProcesses, PushesByTheEngineOfTheLink) {
  const Copy push{imported_, memory_[0].span(), Executor::sdma, {}};
  EXPECT_EQ(device(0).copy_engine(push), device(0).copy_engine(copy(2, 0)));
  copies(push, memory_[0], memory_[2]);
}

// The importer's engine reads: its own memory need not be mapped for the owner's.
TEST_F(SdmaWithProcesses, PullsByTheSameEngine) {
  const Copy pull{memory_[0].span(), imported_, Executor::sdma, {}};
  EXPECT_EQ(device(0).copy_engine(pull), device(0).copy_engine(copy(2, 0)));
  EXPECT_NE(device(0).copy_engine(pull), device(0).copy_engine(copy(0, 2)));
  copies(pull, memory_[2], memory_[0]);
}

TEST_F(SdmaWithProcesses, CopiesToAndFromPinnedMemory) {
  const Buffer pinned = device(0).allocate(kCopied, MemoryKind::pinned);
  copies({imported_, pinned.span(), Executor::sdma, {}}, pinned, memory_[2]);
  copies({pinned.span(), imported_, Executor::sdma, {}}, memory_[2], pinned);
}

TEST_F(SdmaWithProcesses, RefusesMemoryThatIsNoLongerImported) {
  const Copy push{imported_, memory_[0].span(), Executor::sdma, {}};
  close();
  const auto stream = device(0).make_stream();
  EXPECT_THROW(device(0).copy_engine(push), Unavailable);
  EXPECT_THROW(stream->copy(push), Unavailable);
}

TEST_F(Sdma, WithoutEnginesItIsUnavailable) {
  const Variable setting("DUET_STANDIN", "no-sdma");
  EXPECT_TRUE(contains(message_of<Unavailable>([&] { device(0).copy_engine(copy(1, 0)); }),
                       "names no engine"));
}

TEST_F(Sdma, ACopyThatIsNotTakenIsTheStreamsError) {
  const auto stream = device(0).make_stream();
  device(0).copy_engine(copy(1, 0));
  {
    const Variable setting("DUET_STANDIN", "sdma-fails");
    stream->copy(copy(1, 0));
    EXPECT_TRUE(contains(message_of<Error>([&] { stream->synchronize(kSdmaDeadline); }),
                         "300000 bytes by SDMA 2: out of resources"));
  }
  stream->fill(memory_[0].span(), pattern(5));
  stream->copy(copy(1, 0));
  stream->synchronize(kSdmaDeadline);
  EXPECT_FALSE(device(1).check(memory_[1].span(), pattern(5)).has_value());
}

// The copy itself was taken, and is still under way when all other tickets are in use.
TEST_F(Sdma, ACopyOfWhichNobodyIsToldKeepsItsTicketUntilItEnds) {
  constexpr int kTickets = 64;
  const auto stream = device(0).make_stream();
  device(0).copy_engine(copy(1, 0));
  stream->fill(memory_[0].span(), pattern(6));
  fake_gpu::engines_pause() = true;
  {
    const Variable setting("DUET_STANDIN", "waiting-sdma-fails");
    stream->copy(copy(1, 0));
    EXPECT_THROW(stream->synchronize(kSdmaDeadline), Error);
  }
  for (int i = 0; i < kTickets; ++i) stream->copy(copy(1, 0));
  fake_gpu::engines_pause() = false;
  stream->synchronize(10);
  EXPECT_FALSE(device(1).check(memory_[1].span(), pattern(6)).has_value());
}

}  // namespace
}  // namespace duet
