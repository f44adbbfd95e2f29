// Parts of nccl_ranks.cc whose buffers are in segments, as those of ncclMemAlloc and of PyTorch's
// expandable segments.
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "fake_gpu/core/host_vmm.h"
#include "nccl_ranks.h"
#include "nccl_shim/protocol/process_resources_fixture.h"

namespace nccl_ranks {

namespace {

using duet::nccl_shim::testing::mappings;
using duet::nccl_shim::testing::open_files;
using host_vmm::kGranule;

// Addresses of a device, of which parts are mapped and unmapped.
class Range {
 public:
  Range(int device, std::size_t bytes, std::uintptr_t wanted = 0)
      : device_(device), bytes_(bytes), base_(host_vmm::reserve(bytes, wanted)) {}
  ~Range() {
    while (!parts_.empty()) unmap(parts_.back().at);
    host_vmm::unreserve(base_, bytes_);
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

  void map(std::size_t at, std::size_t bytes, bool exportable = true) {
    const host_vmm::Handle handle = host_vmm::create(device_, bytes, exportable);
    host_vmm::map(base_ + at, bytes, handle);
    host_vmm::set_access(base_ + at, bytes, device_);
    host_vmm::release(handle);
    parts_.push_back({at, bytes});
  }
  void unmap(std::size_t at) {
    const auto found = std::find_if(parts_.begin(), parts_.end(),
                                    [at](const Part& each) { return each.at == at; });
    host_vmm::unmap(base_ + at, found->bytes);
    parts_.erase(found);
  }
  void give_access(int device) {
    for (const Part& each : parts_) host_vmm::set_access(base_ + each.at, each.bytes, device);
  }
  char* at(std::size_t offset) const { return base_ + offset; }

 private:
  struct Part {
    std::size_t at, bytes;
  };
  int device_;
  std::size_t bytes_;
  char* base_;
  std::vector<Part> parts_;
};

void gather(const Rank& of, int number, std::size_t bytes, void* send, void* receive) {
  Step step(of.rank, of.ranks, number, bytes, send, receive);
  step.fill(of.streams[0]);
  step.gather(of.comm, of.streams[0]);
  step.check(of.streams[0]);
  of.synchronise();
}

void expect_direct(int before) { expect(host_gpu_allocations() == before, "no staging buffer"); }

constexpr std::size_t kOdd = kGranule - 77;              // of buffers of two segments
constexpr std::size_t kBorders = std::size_t{32} << 30;  // from one to the next

}  // namespace

// Buffers that share segments, of one to five of them, in a range that grows as one of PyTorch's,
// across the border of two windows (borrowed_segments.h).
void segments(const Rank& of) {
  const int before = host_gpu_allocations();
  Range range(of.rank, 64 * kGranule, host_vmm::unused_multiple(kBorders) - 21 * kGranule);
  std::size_t end = 0;
  for (int number = 0; number < 8; ++number) {
    for (std::size_t i = 1; i <= 3; ++i) {
      range.map(end, i * kGranule);
      end += i * kGranule;
    }
    const std::size_t bytes = kGranule / 2 + 1001 * static_cast<std::size_t>(number);
    gather(of, number, bytes, range.at(kOdd + 13 * static_cast<std::size_t>(number)),
           range.at(end - 2 * kGranule - 99));
    gather(of, number + 1, kLarge, range.at(3), range.at(end - 3 * kGranule - kLarge - 5));
  }
  expect_direct(before);
}

// All segments of the buffers go, or only the one in the middle, and others come to their
// addresses.
void segments_remapped(const Rank& of) {
  const int before = host_gpu_allocations();
  Range range(of.rank, 16 * kGranule);
  constexpr std::size_t kPlaces[] = {0, 1, 3, 5};
  constexpr std::size_t kLengths[] = {1, 2, 2, 4};
  for (std::size_t i = 0; i < 4; ++i) range.map(kPlaces[i] * kGranule, kLengths[i] * kGranule);
  for (int number = 0; number < 12; ++number) {
    gather(of, number, kGranule, range.at(kOdd), range.at(2 * kGranule + 31));
    if (of.rank == 1 && number % 3 == 0) continue;
    for (const std::size_t i : {std::size_t{2}, std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
      if (number % 2 == 0 && i != 2) continue;
      range.unmap(kPlaces[i] * kGranule);
    }
    for (const std::size_t i : {std::size_t{2}, std::size_t{3}, std::size_t{1}, std::size_t{0}}) {
      if (number % 2 == 0 && i != 2) continue;
      range.map(kPlaces[i] * kGranule, kLengths[i] * kGranule);
    }
  }
  expect_direct(before);
  expect(host_vmm::segments() < 40, "segments that have ended are given back");
}

// One segment of a rank's buffers cannot be exported: they alone are staged.
void segments_not_exportable(const Rank& of) {
  const int before = host_gpu_allocations();
  Range range(of.rank, 8 * kGranule);
  range.map(0, kGranule);
  range.map(kGranule, kGranule, of.rank != 0);
  range.map(2 * kGranule, 4 * kGranule);
  for (int number = 0; number < 3; ++number) {
    gather(of, number, kLarge, range.at(kGranule - 100), range.at(2 * kGranule + 1));
  }
  expect(host_gpu_allocations() == before + (of.rank == 0 ? 1 : 0), "one staging buffer");
}

void use_up_descriptors(int left) {
  constexpr int kMost = 256;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = kMost;
  setrlimit(RLIMIT_NOFILE, &limit);
  while (dup(STDERR_FILENO) < kMost / 4 * 3 - 1 - left) continue;
}

// What is lent takes no descriptor of the last quarter. Later there are enough.
void segments_few_descriptors(const Rank& of) {
  int before = host_gpu_allocations();
  Range range(of.rank, 64 * kGranule);
  const std::size_t each = of.rank == 0 ? kGranule : 40 * kGranule;
  for (std::size_t at = 0; at < 40 * kGranule; at += each) range.map(at, each);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (of.rank == 0) use_up_descriptors(20);
  const std::size_t files = open_files();
  const std::size_t bytes = 12 * kGranule;
  for (int number = 0; number < 3; ++number) {
    gather(of, number, bytes, range.at(kOdd), range.at(14 * kGranule + 9));
  }
  expect((host_gpu_allocations() > before) == (of.rank == 0), "staging buffers of rank 0");
  // Of the one buffer that fits: descriptors of the other go back.
  expect(of.rank != 0 || open_files() <= files + 20, "descriptors of what is not lent");
  setrlimit(RLIMIT_NOFILE, &limit);
  before = host_gpu_allocations();
  gather(of, 4, bytes, range.at(kOdd), range.at(14 * kGranule + 9));
  expect_direct(before);
}

// Rank 0 cannot lend any, which all ranks find out at creation.
void segments_refused(const Rank& of) {
  const int before = host_gpu_allocations();
  Range range(of.rank, 8 * kGranule);
  for (std::size_t i = 0; i < 2; ++i) range.map(i * kGranule, kGranule);
  for (int number = 0; number < 3; ++number) {
    gather(of, number, kLarge, range.at(1), range.at(kOdd));
  }
  expect(host_gpu_allocations() == before + 2, "two staging buffers");
}

void segments_come_and_go(const Rank& of) {
  const int before = host_gpu_allocations();
  std::size_t files = 0, maps = 0;
  auto send = std::make_unique<Range>(of.rank, kGranule);
  auto receive = std::make_unique<Range>(of.rank, 2 * kGranule);
  send->map(0, kGranule);
  for (const std::size_t at : {std::size_t{0}, kGranule}) receive->map(at, kGranule);
  for (int number = 0; number < 10000; ++number) {
    if (number % (2 + of.rank) == 0) {  // at other calls on the other rank
      send = std::make_unique<Range>(of.rank, kGranule);
      send->map(0, kGranule);
    }
    if (number % 7 == 0) {
      receive->unmap(kGranule);
      receive->map(kGranule, kGranule);
    }
    gather(of, number % 8, kLarge, send->at(1), receive->at(kGranule - 99));
    if (failures > 0) return;
    if (number == 100) files = open_files(), maps = mappings();
  }
  expect_direct(before);
  expect(open_files() <= files + 2, "no more descriptors than before");
  expect(mappings() <= maps + 12, "no more mappings than before");
}

// Rank 1 has lent segments and comes first to a call, so that rank 0 needs them.
void killed_with_segments(const Rank& of) {
  calls(of, 1, 2);
  Range range(of.rank, 4 * kGranule);
  range.map(0, kGranule);
  range.map(kGranule, 2 * kGranule);
  Step step(of.rank, of.ranks, 1, kLarge, range.at(kGranule - 1), range.at(kGranule + kLarge));
  if (of.rank == 1) {
    step.gather(of.comm, of.streams[0]);
    raise(SIGKILL);
  }
  usleep(300000);
  const ncclResult_t result = ncclAllGather(step.send, step.receive, step.bytes, duet::nccl::kUint8,
                                            of.comm, of.streams[0]);
  expect(result == duet::nccl::kRemoteError, "an error of a call with a dead rank's segments");
  must(ncclCommAbort(of.comm), "ncclCommAbort");
}

// Segments that the other devices of the process reach, and others.
int segments_of_one_thread(int ranks, const ncclUniqueId& id) {
  std::vector<Rank> all;
  std::vector<std::unique_ptr<Range>> memory;
  must(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back({rank, ranks, nullptr, {}});
    memory.push_back(std::make_unique<Range>(rank, 16 * kGranule));
  }
  for (Rank& each : all) {
    host_gpu_set_device(each.rank);
    each.streams.push_back(host_gpu_create_stream());
    must(ncclCommInitRank(&each.comm, ranks, id, each.rank), "ncclCommInitRank");
  }
  must(ncclGroupEnd(), "ncclGroupEnd");
  const int before = host_gpu_allocations();
  for (int number = 0; number < 6; ++number) {
    std::vector<std::unique_ptr<Step>> steps;
    must(ncclGroupStart(), "ncclGroupStart");
    for (const Rank& each : all) {
      Range& own = *memory[static_cast<std::size_t>(each.rank)];
      const std::size_t first = 2 * static_cast<std::size_t>(number);
      for (const std::size_t at : {first, first + 1}) own.map(at * kGranule, kGranule);
      for (const Rank& other : all) {
        if (number % 2 == 0) own.give_access(other.rank);
      }
      steps.push_back(std::make_unique<Step>(each.rank, ranks, number, kLarge,
                                             own.at((first + 1) * kGranule - 17),
                                             own.at((first + 1) * kGranule + kLarge)));
      steps.back()->fill(each.streams[0]);
      steps.back()->gather(each.comm, each.streams[0]);
    }
    must(ncclGroupEnd(), "ncclGroupEnd");
    for (std::size_t i = 0; i < all.size(); ++i) steps[i]->check(all[i].streams[0]);
    for (const Rank& each : all) each.synchronise();
  }
  expect_direct(before);
  for (const Rank& each : all) must(ncclCommDestroy(each.comm), "ncclCommDestroy");
  std::printf("all ranks: %d calls by NCCL\n", fake_nccl_calls());
  return failures;
}

}  // namespace nccl_ranks
