// The functions that make and end communicators, as the drop-in's libraries export them.
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "nccl_shim/call_counts.h"
#include "nccl_shim/creations.h"
#include "nccl_shim/groups.h"
#include "nccl_shim/late_creations.h"
#include "nccl_shim/log.h"
#include "nccl_shim/real_library.h"
#include "nccl_shim/settings.h"

namespace duet::nccl_shim {
namespace {

constexpr double kAbortSeconds = 10;

std::vector<std::unique_ptr<PendingCreation>> list_of(std::unique_ptr<PendingCreation> pending) {
  std::vector<std::unique_ptr<PendingCreation>> list;
  list.push_back(std::move(pending));
  return list;
}

// `result` is the real creation's; in a group NCCL creates at the group's end.
nccl::Result complete(std::unique_ptr<PendingCreation> pending, nccl::Result result) {
  note_result(result);
  if (pending == nullptr) return result;
  if (!in_group()) return enter_created(list_of(std::move(pending)), result);
  if (result == nccl::kSuccess || result == nccl::kInProgress) queue_creation(std::move(pending));
  return result;
}

// What NCCL tells of a communicator, by the function `name`.
int ask(const char* name, nccl::Comm handle) {
  using Ask = nccl::Result (*)(nccl::Comm, int*);
  int answer = 0;
  const auto real = reinterpret_cast<Ask>(real_function_or_refusal(name));
  const nccl::Result result = real(handle, &answer);
  if (result != nccl::kSuccess) throw Error(std::string(name) + ": " + std::to_string(result));
  return answer;
}

// A part of `parent` that the real `call` has made, or makes at the end of the group. `part` names
// it, alike on all its ranks.
struct NewPart {
  std::string call;
  std::shared_ptr<Communicator> parent;
  std::string creation;  // names the call, alike on all ranks that make it
  std::string part;
  nccl::Comm* handle;

  std::string name() const {
    return shared_memory_name(parent->name.data(), parent->name.size(), part);
  }
  std::uint64_t hash() const {
    const std::string whole = name();
    return hash_bytes(whole.data(), whole.size(), 0xcbf29ce484222325u);
  }
  // Makes all its ranks forward.
  void refuse(const std::string& why) const {
    parent->copies->refuse_part(hash());
    log_info(call + ": all calls of the new communicator are forwarded: " + why);
  }
};

using Pending = std::vector<std::unique_ptr<PendingCreation>>;

// On the part's own device, which need not be the current one.
nccl::Result announce_part(const NewPart& made, Pending& pending) {
  const nccl::Comm handle = *made.handle;
  if (handle == nullptr) return nccl::kSuccess;  // this rank is in no part
  try {
    const int ranks = ask("ncclCommCount", handle);
    if (ranks < 2) return nccl::kSuccess;
    auto one = announce(made.handle, made.name(), ask("ncclCommUserRank", handle), ranks,
                        device_number(ask("ncclCommCuDevice", handle)));
    if (one == nullptr) {
      made.refuse("this rank cannot announce itself");
      return nccl::kSuccess;
    }
    one->refused = [parent = made.parent, part = made.hash()] {
      return parent->copies->is_part_refused(part);
    };
    pending.push_back(std::move(one));
  } catch (const Error& error) {
    made.refuse(error.what());
  }
  return nccl::kSuccess;
}

// `result` is that of the real call. Without a configuration the part has its parent's.
nccl::Result complete_part(const NewPart& made, const nccl::Config* config, nccl::Result result) {
  note_result(result);
  const bool nonblocking = config == nullptr && !made.parent->blocking;
  if (result != nccl::kSuccess && result != nccl::kInProgress) return result;
  const std::string why = nonblocking ? "it is nonblocking" : why_forwarded(config);
  if (!why.empty()) {
    made.refuse(why);
    return result;
  }
  if (in_group()) {
    queue_announcement(
        {[made](Pending& pending) { return announce_part(made, pending); },
         made.parent->name + made.creation,
         [made] { made.refuse("a rank creates it together with others in one group"); }});
    return result;
  }
  Pending pending;
  const nccl::Result announced = announce_part(made, pending);
  return announced == nccl::kSuccess ? enter_all(pending) : announced;
}

// Ranks that are left out do not call.
std::string name_of_shrink(const int* excluded, int count) {
  std::set<int> ranks;
  for (int i = 0; i < count; ++i) ranks.insert(excluded[i]);
  std::string name = "shrink";
  for (const int rank : ranks) name += " " + std::to_string(rank);
  return name;
}

// After the real ncclCommInitAll.
Pending announce_all_of_process(nccl::Comm* handles, int count) {
  return announce_all(handles, count,
                      [](nccl::Comm handle) { return ask("ncclCommCuDevice", handle); });
}

// The real NCCL's result or state, unless it is success while calls of a finalized communicator
// run.
nccl::Result unless_calls_run(const std::shared_ptr<Communicator>& communicator,
                              nccl::Result real) {
  if (real != nccl::kSuccess || communicator == nullptr || !communicator->finalizing) return real;
  return communicator->copies->is_done() ? real : nccl::kInProgress;
}

// The program is about to be told of it.
bool has_failed(Communicator& communicator) {
  const std::string why = communicator.copies->error();
  if (!why.empty() && !communicator.told.exchange(true)) note_error(why);
  return !why.empty();
}

void abort_copies(Communicator& communicator) {
  communicator.copies->abort(kAbortSeconds);
  const std::string warning = communicator.copies->warning();
  if (!warning.empty()) log_error("abort: " + warning);
}

// Aborts the calls that are taken over beside what the real NCCL does to its own: on a stream
// either may be behind the other. Its end waits until that is done.
class AbortBeside {
 public:
  explicit AbortBeside(std::shared_ptr<Communicator> communicator)
      : communicator_(std::move(communicator)) {
    if (communicator_ == nullptr) return;
    communicator_->aborted = true;
    communicator_->copies->begin_abort();
    try {
      thread_ = std::thread([this] { abort_copies(*communicator_); });
    } catch (const std::system_error&) {
      abort_copies(*communicator_);
    }
  }
  ~AbortBeside() {
    if (thread_.joinable()) thread_.join();
  }
  AbortBeside(const AbortBeside&) = delete;
  AbortBeside& operator=(const AbortBeside&) = delete;

 private:
  const std::shared_ptr<Communicator> communicator_;
  std::thread thread_;
};

// `real_end` may do its part when the group ends.
nccl::Result abort_beside(std::shared_ptr<Communicator> communicator,
                          const std::function<nccl::Result()>& real_end) {
  if (communicator == nullptr) return real_end();
  const auto beside = std::make_shared<const AbortBeside>(std::move(communicator));
  if (in_group()) keep_to_end(beside);
  return real_end();
}

}  // namespace
}  // namespace duet::nccl_shim

using namespace duet::nccl_shim;  // the functions below have names of C
using duet::nccl::Comm;
using duet::nccl::Config;
using duet::nccl::Result;
using duet::nccl::UniqueId;
using duet::nccl::Window;

DUET_NCCL_WRAPPER(ncclCommInitRank)(Comm* comm, int ranks, UniqueId id, int rank) {
  DUET_NCCL_REAL(ncclCommInitRank);
  auto pending = announce_init(comm, &id, 1, rank, ranks, nullptr);
  return complete(std::move(pending), real(comm, ranks, id, rank));
}

DUET_NCCL_WRAPPER(ncclCommInitRankConfig)
(Comm* comm, int ranks, UniqueId id, int rank, Config* config) {
  DUET_NCCL_REAL(ncclCommInitRankConfig);
  auto pending = announce_init(comm, &id, 1, rank, ranks, config);
  return complete(std::move(pending), real(comm, ranks, id, rank, config));
}

DUET_NCCL_WRAPPER(ncclCommInitRankScalable)
(Comm* comm, int ranks, int rank, int count, UniqueId* ids, Config* config) {
  DUET_NCCL_REAL(ncclCommInitRankScalable);
  auto pending = announce_init(comm, ids, count, rank, ranks, config);
  return complete(std::move(pending), real(comm, ranks, rank, count, ids, config));
}

DUET_NCCL_WRAPPER(ncclCommInitAll)(Comm* comms, int count, const int* devices) {
  DUET_NCCL_REAL(ncclCommInitAll);
  const Result result = real(comms, count, devices);
  note_result(result);
  if (result != duet::nccl::kSuccess || !settings_are_valid()) return result;
  if (!in_group()) return enter_all(announce_all_of_process(comms, count));
  const auto announce = [=](Pending& pending) {
    for (auto& each : announce_all_of_process(comms, count)) pending.push_back(std::move(each));
    return duet::nccl::kSuccess;
  };
  queue_announcement({announce, "", nullptr});
  return result;
}

DUET_NCCL_WRAPPER(ncclCommSplit)(Comm comm, int color, int key, Comm* part, Config* config) {
  DUET_NCCL_REAL(ncclCommSplit);
  if (is_created_late(comm)) return refuse_early();
  const std::shared_ptr<Communicator> parent = find(comm);
  const Result result = real(comm, color, key, part, config);
  if (parent == nullptr) return result;
  const std::string name = parent->name_part("split");
  const std::string with_color = name + " " + std::to_string(color);
  return complete_part({"ncclCommSplit", parent, name, with_color, part}, config, result);
}

DUET_NCCL_WRAPPER(ncclCommShrink)
(Comm comm, int* excluded, int count, Comm* part, Config* config, int flags) {
  DUET_NCCL_REAL(ncclCommShrink);
  if (is_created_late(comm)) return refuse_early();
  const std::shared_ptr<Communicator> parent = find(comm);
  const bool aborts = (flags & duet::nccl::kShrinkAbort) != 0;
  const Result result = abort_beside(
      aborts ? parent : nullptr, [=] { return real(comm, excluded, count, part, config, flags); });
  if (parent == nullptr) return result;
  const std::string name = parent->name_part(name_of_shrink(excluded, count));
  return complete_part({"ncclCommShrink", parent, name, name, part}, config, result);
}

DUET_NCCL_WRAPPER(ncclCommFinalize)(Comm comm) {
  DUET_NCCL_REAL(ncclCommFinalize);
  end_late(comm);
  const auto found = find(comm);
  if (found != nullptr && found->blocking && !found->copies->drain()) {
    has_failed(*found);
    return duet::nccl::kRemoteError;
  }
  if (found != nullptr) found->finalizing = true;
  return unless_calls_run(found, real(comm));
}

DUET_NCCL_WRAPPER(ncclCommDestroy)(Comm comm) {
  DUET_NCCL_REAL(ncclCommDestroy);
  end_late(comm);
  end_counts(comm);
  take_out(comm).reset();
  return real(comm);
}

DUET_NCCL_WRAPPER(ncclCommAbort)(Comm comm) {
  DUET_NCCL_REAL(ncclCommAbort);
  end_late(comm);
  end_counts(comm);
  return abort_beside(take_out(comm), [=] { return real(comm); });
}

DUET_NCCL_WRAPPER(ncclCommRevoke)(Comm comm, int flags) {
  DUET_NCCL_REAL(ncclCommRevoke);
  if (flags != 0) return real(comm, flags);  // NCCL_REVOKE_DEFAULT is all that NCCL has: it refuses
  end_late(comm);
  return abort_beside(find(comm), [=] { return real(comm, flags); });
}

DUET_NCCL_WRAPPER(ncclCommGetAsyncError)(Comm comm, Result* error) {
  if (is_real(__builtin_return_address(0))) return ask_own_state(comm, error);
  const auto found = find(comm);
  if (found != nullptr && !found->aborted && has_failed(*found)) {
    *error = duet::nccl::kRemoteError;
    return duet::nccl::kSuccess;
  }
  const Result result = ask_state(comm, error);
  if (result == duet::nccl::kSuccess) *error = unless_calls_run(found, *error);
  return result;
}

DUET_NCCL_WRAPPER_OF(const char*, ncclGetLastError)(Comm) { return last_error(); }

// The functions below are NCCL's own affair; what they refuse in a group is not made of the rest of
// it either.

DUET_NCCL_WRAPPER(ncclCommWindowRegister)
(Comm comm, void* buffer, std::size_t bytes, Window* window, int flags) {
  DUET_NCCL_REAL(ncclCommWindowRegister);
  return note_result(real(comm, buffer, bytes, window, flags));
}

DUET_NCCL_WRAPPER(ncclDevCommCreate)(Comm comm, const void* requirements, void* device_comm) {
  DUET_NCCL_REAL(ncclDevCommCreate);
  return note_result(real(comm, requirements, device_comm));
}

// Since 2.29. The new communicator is forwarded.
DUET_NCCL_WRAPPER(ncclCommGrow)
(Comm comm, int ranks, const UniqueId* id, int rank, Comm* grown, Config* config) {
  DUET_NCCL_REAL(ncclCommGrow);
  return note_result(real(comm, ranks, id, rank, grown, config));
}

DUET_NCCL_WRAPPER(ncclCommSuspend)(Comm comm, int flags) {
  DUET_NCCL_REAL(ncclCommSuspend);
  return note_result(real(comm, flags));
}

DUET_NCCL_WRAPPER(ncclCommResume)(Comm comm) {
  DUET_NCCL_REAL(ncclCommResume);
  return note_result(real(comm));
}
