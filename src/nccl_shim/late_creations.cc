#include "nccl_shim/late_creations.h"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "nccl_shim/communicators.h"
#include "nccl_shim/log.h"
#include "nccl_shim/real_library.h"

namespace duet::nccl_shim {
namespace {

nccl::Result ask_real(nccl::Comm handle, nccl::Result* state) {
  using Ask = nccl::Result (*)(nccl::Comm, nccl::Result*);
  static const auto real = reinterpret_cast<Ask>(real_function_or_refusal("ncclCommGetAsyncError"));
  return real(handle, state);
}

class LateCreation {
 public:
  explicit LateCreation(std::unique_ptr<PendingCreation> pending) : comm_(*pending->handle) {
    pending->handle = &comm_;  // the program's variable may be gone when NCCL is done
    pending_.push_back(std::move(pending));
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      log_error(std::string("creation of a communicator: ") + error.what());
      give_up();
      done_ = true;
    }
  }
  ~LateCreation() { wait(); }
  LateCreation(const LateCreation&) = delete;
  LateCreation& operator=(const LateCreation&) = delete;

  bool goes_on() const { return !done_; }
  nccl::Result result() const { return result_; }

  // In one thread at a time: the call that finds a creation done does the rest of it. NCCL calls
  // its own functions by their names, and so may come back here.
  nccl::Result ask(nccl::Result* state) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return ask_real(comm_, state);
  }

  // Until it goes on no longer. By one thread.
  void wait() {
    if (thread_.joinable()) thread_.join();
  }

  void give_up() {
    given_up_ = true;
    for (const auto& each : pending_) each->creation->give_up();
  }

 private:
  void run() {
    nccl::Result state = nccl::kInProgress;
    nccl::Result asked = nccl::kSuccess;
    for (;;) {
      asked = ask(&state);
      if (given_up_ || asked != nccl::kSuccess || state != nccl::kInProgress) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!given_up_ && asked == nccl::kSuccess && state == nccl::kSuccess) {
      result_ = enter_all(pending_);
    }
    done_ = true;
  }

  nccl::Comm comm_;
  std::recursive_mutex mutex_;  // held while the real NCCL is asked
  std::vector<std::unique_ptr<PendingCreation>> pending_;
  std::atomic<bool> given_up_{false}, done_{false};
  std::atomic<nccl::Result> result_{nccl::kSuccess};
  std::thread thread_;
};

// Never destroyed, as the table of communicators.
struct LateCreations {
  std::mutex mutex;
  std::map<nccl::Comm, std::shared_ptr<LateCreation>> entries;
  std::atomic<std::size_t> count{0};
};

LateCreations& late_creations() {
  static auto* const instance = new LateCreations;
  return *instance;
}

std::shared_ptr<LateCreation> find_late(nccl::Comm handle) {
  LateCreations& all = late_creations();
  if (all.count == 0 || is_forked()) return nullptr;
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.entries.find(handle);
  return found == all.entries.end() ? nullptr : found->second;
}

void set_late(nccl::Comm handle, std::shared_ptr<LateCreation> creation) {
  LateCreations& all = late_creations();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (creation == nullptr) {
    all.entries.erase(handle);
  } else {
    all.entries[handle] = std::move(creation);
  }
  all.count = all.entries.size();
}

}  // namespace

nccl::Result enter_created(std::vector<std::unique_ptr<PendingCreation>> pending,
                           nccl::Result real) {
  if (real != nccl::kSuccess && real != nccl::kInProgress) return real;
  std::vector<std::unique_ptr<PendingCreation>> blocking;
  for (auto& each : pending) {
    if (each->blocking) {
      blocking.push_back(std::move(each));
      continue;
    }
    real = nccl::kInProgress;
    const nccl::Comm handle = *each->handle;
    set_late(handle, std::make_shared<LateCreation>(std::move(each)));
  }
  const nccl::Result entered = enter_all(blocking);
  return entered == nccl::kSuccess ? real : entered;
}

bool is_created_late(nccl::Comm handle) {
  const std::shared_ptr<LateCreation> found = find_late(handle);
  return found != nullptr && found->goes_on();
}

nccl::Result refuse_early() {
  log_error("a communicator is used before ncclCommGetAsyncError has given ncclSuccess");
  return nccl::kInvalidArgument;
}

nccl::Result ask_own_state(nccl::Comm handle, nccl::Result* state) {
  const std::shared_ptr<LateCreation> found = find_late(handle);
  return found == nullptr ? ask_real(handle, state) : found->ask(state);
}

nccl::Result ask_state(nccl::Comm handle, nccl::Result* state) {
  const std::shared_ptr<LateCreation> found = find_late(handle);
  if (found == nullptr) return ask_real(handle, state);
  const nccl::Result result = found->ask(state);
  if (result != nccl::kSuccess || *state != nccl::kSuccess) return result;
  *state = found->goes_on() ? nccl::kInProgress : found->result();
  if (*state == nccl::kSuccess) set_late(handle, nullptr);
  return result;
}

void end_late(nccl::Comm handle) {
  const std::shared_ptr<LateCreation> found = find_late(handle);
  if (found == nullptr) return;
  found->give_up();
  found->wait();
  set_late(handle, nullptr);
}

}  // namespace duet::nccl_shim
