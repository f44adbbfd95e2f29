#include "nccl_shim/protocol/ranks_fixture.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "fake_gpu/core/streams.h"
#include "nccl_shim/protocol/creation.h"

namespace duet::nccl_shim::testing {
namespace {

constexpr double kSeconds = 60;

std::string name_start() {
  static const std::string start = "duet-test-" + std::to_string(getpid()) + "-";
  return start;
}

// Of volatile bytes, so that no call of a function that the sanitizer knows stands for the loop.
__attribute__((no_sanitize("thread"))) void move_unseen(volatile char* to,
                                                        const volatile char* from,
                                                        std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
}

constexpr std::size_t kBaseAt = 48;  // in ExportedMemory, behind what the host device writes

}  // namespace

ExportedMemory TestDevice::export_memory(const Allocation& allocation) {
  ExportedMemory memory = HostShimDevice::export_memory(allocation);
  std::memcpy(memory.bytes + kBaseAt, &allocation.base, sizeof allocation.base);
  return memory;
}

void* TestDevice::import_memory(const ExportedMemory& memory, std::size_t bytes) {
  if (before_import) before_import();
  std::uintptr_t base = 0;
  std::memcpy(&base, memory.bytes + kBaseAt, sizeof base);
  for (const auto& [own, of_owner] : mapped_) {
    if (maps_a_base_once && of_owner == base) throw Error("a base that is mapped already");
  }
  void* const own = HostShimDevice::import_memory(memory, bytes);
  mapped_[own] = base;
  return own;
}

void TestDevice::unimport_memory(void* base, std::size_t bytes) {
  mapped_.erase(base);
  HostShimDevice::unimport_memory(base, bytes);
}

void TestDevice::copy_unseen(Stream stream, void* to, const void* from, std::size_t bytes) {
  fake_gpu::Stream::of(stream).enqueue(
      [=] { move_unseen(static_cast<char*>(to), static_cast<const char*>(from), bytes); });
}

TestRank::TestRank(const Setting& setting, const std::string& name, int own_rank)
    : rank(own_rank),
      ranks(setting.ranks),
      device(static_cast<std::uint64_t>(own_rank) + 1, setting.device_delay),
      cpu_delay_(setting.cpu_delay),
      random_(static_cast<unsigned>(own_rank) + 1) {
  device.has_segments = setting.has_segments && rank >= setting.ranks_without_segments;
  Method method;
  method.piece_bytes = kPieceBytes;
  method.reduces = true;
  method.staged = setting.staged;
  method.most_by_packets = setting.most_by_packets;
  if (setting.most_by_chunks) method.chunks.fill({*setting.most_by_chunks, SIZE_MAX});
  method.chunk_round = setting.chunk_round;
  method.wait_seconds_per_byte = setting.wait_per_byte;
  Creation creation(device, name, rank, ranks, 0, method);
  // In the place of the real NCCL's creation, in which all ranks wait for each other.
  creation.wait_announced(kSeconds);
  creation.offer();
  creation.try_peers(kSeconds);
  creation.map_slots(kSeconds);
  copies = creation.finish(kSeconds);
  if (copies == nullptr) throw Unavailable(creation.reason());
  guard_.add(*copies);
}

void TestRank::end() {
  if (copies == nullptr) return;
  guard_.remove(*copies);
  // Where peers may still write its slots it waits for them, which end within 30 s.
  for (int i = 0; i < 30000 && !copies->end(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  copies.reset();
}

TestRank::~TestRank() {
  end();
  for (ShimDevice::Stream each : streams_) device.destroy_stream(each);
}

ShimDevice::Stream TestRank::stream(int index) {
  while (streams_.size() <= static_cast<std::size_t>(index)) {
    streams_.push_back(device.create_stream());
  }
  return streams_[static_cast<std::size_t>(index)];
}

void TestRank::run(ShimDevice::Stream stream, std::function<void()> kernel) {
  fake_gpu::Stream::of(stream).enqueue(std::move(kernel));
}

void TestRank::synchronise() {
  for (ShimDevice::Stream each : streams_) device.synchronise(each);
}

void TestRank::pause() {
  random_ = random_ * 1664525u + 1013904223u;
  if (cpu_delay_ == 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds((random_ >> 8) % (cpu_delay_ + 1)));
}

void TestRank::wait_for_error() {
  for (const double end = steady_now() + 30; copies->error().empty();) {
    if (steady_now() > end) {
      copies->break_with("an error is missing");  // so that what waits for the error ends
      throw Timeout("waited 30 s for an error of the communicator");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void TestRank::end_by_abort() {
  copies->abort(30);
  EXPECT_EQ(copies->warning(), "");
  synchronise();
}

std::string unused_name() {
  static int count = 0;
  return name_start() + std::to_string(count++);
}

bool has_shared_memory() {
  DIR* folder = opendir("/dev/shm");
  bool found = false;
  while (const dirent* entry = readdir(folder)) {
    found |= std::string(entry->d_name).rfind(name_start(), 0) == 0;
  }
  closedir(folder);
  return found;
}

void on_threads(const Setting& setting, const Body& body) {
  const std::string name = unused_name();
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(setting.ranks));
  for (int rank = 0; rank < setting.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        TestRank one(setting, name, rank);
        body(one);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

std::vector<int> start_processes(const Setting& setting, const Body& body) {
  const std::string name = unused_name();
  std::vector<int> processes;
  for (int rank = 0; rank < setting.ranks; ++rank) {
    const pid_t process = fork();
    if (process == 0) {
      int code = 1;
      try {
        TestRank one(setting, name, rank);
        body(one);
        code = ::testing::Test::HasFailure() ? 1 : 0;
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      }
      _exit(code);
    }
    processes.push_back(process);
  }
  return processes;
}

int end_of(int process) {
  int status = 0;
  waitpid(process, &status, 0);
  return status;
}

void expect_ends(const Setting& setting, const std::vector<int>& ends, const Body& body) {
  const std::vector<int> processes = start_processes(setting, body);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    EXPECT_EQ(end_of(processes[i]), ends[i]) << "of rank " << i;
  }
}

void on_processes(const Setting& setting, const Body& body) {
  expect_ends(setting, std::vector<int>(static_cast<std::size_t>(setting.ranks)), body);
}

std::atomic<int>* shared_number() {
  return static_cast<std::atomic<int>*>(
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

void wait_until(const std::atomic<int>& number, int reaches) {
  for (const double begin = steady_now(); number < reaches;) {
    if (steady_now() - begin > kSeconds) {
      throw Timeout("another rank of the test: expected its number to reach " +
                    std::to_string(reaches) + ", not to stay " + std::to_string(number));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void run_until(TestRank& rank, ShimDevice::Stream stream, const std::atomic<int>& go) {
  rank.run(stream, [&go] {
    try {
      wait_until(go, 1);
    } catch (const Timeout& error) {
      ADD_FAILURE() << error.what();
    }
  });
}

}  // namespace duet::nccl_shim::testing
