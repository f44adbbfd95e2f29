#include "nccl_shim/protocol/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "nccl_shim/protocol/failure.h"

namespace duet::nccl_shim {
namespace {

// Beside a number; none of them while the first waits for the other.
constexpr std::uint64_t kTaken = 1ull << 63;    // the other has come: it makes all copies
constexpr std::uint64_t kRevoked = 1ull << 62;  // the first has aborted before the other came
constexpr std::uint64_t kShared = 1ull << 61;   // the other has come in time: each makes its own
constexpr std::uint64_t kLeft = 1ull << 60;     // the first waits no longer

// What aborting adds to the counter of a word that it sets in a peer's place: such a word has come,
// and is no value that the peer itself sets.
constexpr std::uint32_t kForced = 1u << 30;

}  // namespace

Role PairState::come(std::uint64_t number, bool waits) {
  std::uint64_t seen = word_.load(std::memory_order_acquire);
  for (;;) {
    if (seen == (number | kRevoked)) return Role::none;
    Role role = Role::first;
    std::uint64_t next = waits ? number : number | kLeft;
    if (seen == number) {
      role = Role::sharing;
      next = number | kShared;
    } else if (seen == (number | kLeft)) {
      role = Role::second;
      next = number | kTaken;
    }
    if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      return role;
    }
  }
}

bool PairState::wait_for_other(std::uint64_t number, double end, const Failure& failure) {
  while (word_.load(std::memory_order_acquire) == number && !failure.is_ending() &&
         steady_now() < end) {
    std::this_thread::yield();
  }
  std::uint64_t seen = number;
  word_.compare_exchange_strong(seen, number | kLeft, std::memory_order_acq_rel,
                                std::memory_order_acquire);
  return seen == (number | kShared);
}

bool PairState::revoke(std::uint64_t number) {
  std::uint64_t untaken = number | kLeft;
  return word_.compare_exchange_strong(untaken, number | kRevoked);
}

void force(Word& word, std::uint32_t value, std::uint32_t& seen) {
  std::uint32_t found = word.load(std::memory_order_acquire);
  if (!has_come(found, value + kForced / 2)) seen = found;
  if (!has_come(found, value)) word.compare_exchange_strong(found, value + kForced);
}

std::shared_ptr<SharedMemory> SharedMemory::open(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<SharedMemory>> mapped;
  const std::lock_guard<std::mutex> lock(mutex);
  for (auto each = mapped.begin(); each != mapped.end();) {
    each = each->second.expired() ? mapped.erase(each) : std::next(each);
  }
  std::weak_ptr<SharedMemory>& here = mapped[name];
  std::shared_ptr<SharedMemory> shared = here.lock();
  if (shared == nullptr) {
    shared.reset(new SharedMemory("/dev/shm/" + name));
    here = shared;
  }
  return shared;
}

SharedMemory::SharedMemory(const std::string& path) : path_(path) {
  const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) throw Unavailable(path_ + ": " + std::strerror(errno));
  void* mapped = MAP_FAILED;
  // posix_fallocate: a full /dev/shm is an error here, and not a SIGBUS later.
  int error = posix_fallocate(file, 0, sizeof(SharedBlock));
  if (error == 0) {
    mapped = mmap(nullptr, sizeof(SharedBlock), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    error = mapped == MAP_FAILED ? errno : 0;
  }
  close(file);
  if (error != 0) {
    unlink();
    throw Unavailable(path_ + ": " + std::strerror(error));
  }
  memory_ = static_cast<SharedBlock*>(mapped);
}

SharedMemory::~SharedMemory() { munmap(memory_, sizeof(SharedBlock)); }

void SharedMemory::unlink() const { ::unlink(path_.c_str()); }

std::uint64_t process_space() {
  struct stat space {};
  return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

}  // namespace duet::nccl_shim
