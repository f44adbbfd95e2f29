#include "nccl_shim/creations.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "nccl_shim/communicators.h"
#include "nccl_shim/log.h"
#include "nccl_shim/real_library.h"
#include "nccl_shim/settings.h"
#include "nccl_shim/shipped_thresholds.h"

namespace duet::nccl_shim {
namespace {

// Ranks come to a step within the time that creation differs on them; a peer's end is noticed at
// once.
constexpr double kStepSeconds = 300;

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// A list of kinds and sizes: "all_gather from 1048576 B".
void add_to(std::string& list, const char* what, const char* bound, std::uint64_t bytes) {
  list += (list.empty() ? "" : ", ") + std::string(what) + bound + std::to_string(bytes) + " B";
}

constexpr const char* kKindNames[kKinds] = {"all_gather", "all_to_all", "broadcast",
                                            "reduce_scatter", "all_reduce"};

// What the drop-in takes over by copies.
std::string taken_over(const Thresholds& thresholds, bool with_reductions, bool with_messages) {
  std::string text;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (!thresholds.least[kind]) continue;
    if (reduces(static_cast<Kind>(kind)) && !with_reductions) continue;
    add_to(text, kKindNames[kind], " from ", *thresholds.least[kind]);
  }
  if (thresholds.least_message && with_messages) {
    add_to(text, "send and receive", " from ", *thresholds.least_message);
  }
  return text;
}

std::string taken_by_chunks(const Method& method) {
  std::string text, captured;
  const auto is_as_first = [&method](const ChunkSizes& each) {
    const ChunkSizes& first = method.chunks.front();
    return each.most == first.most && each.most_captured == first.most_captured;
  };
  const bool all = std::all_of(method.chunks.begin(), method.chunks.end(), is_as_first);
  for (std::size_t kind = 0; kind < (all ? 1 : kKinds); ++kind) {
    const auto& [most, most_captured] = method.chunks[kind];
    const char* const name = all ? "calls" : kKindNames[kind];
    if (most > 0) add_to(text, name, " up to ", most);
    if (most_captured > most) add_to(captured, name, " up to ", most_captured);
  }
  if (captured.empty()) return text;
  return text + (text.empty() ? "" : ", ") + "captured " + captured;
}

// Each copy costs some 4 us besides its bytes, so that pieces are large, as they are for the engine
// dma (64 MiB take 170 us on the wire of an H200); the slots of more ranks are to take no more than
// half a gigabyte.
constexpr std::size_t kPieceOfTwoRanks = 64 << 20, kPieceOfMore = 32 << 20;

// What a copy engine of an H200 takes for a byte to another GPU (docs/results/README.md: 392 GB/s
// at 256 MiB). H100 SXM have the same links.
constexpr double kWaitSecondsPerByte = 1 / 392e9;

Method wanted_method(const Thresholds& thresholds, int ranks) {
  const auto& least = thresholds.least;
  Method wanted;
  wanted.reduces = least[static_cast<std::size_t>(Kind::reduce_scatter)].has_value() ||
                   least[static_cast<std::size_t>(Kind::all_reduce)].has_value();
  wanted.staged = settings().mode == Mode::staged;
  if (wanted.reduces || wanted.staged) {
    wanted.piece_bytes = ranks == 2 ? kPieceOfTwoRanks : kPieceOfMore;
  }
  wanted.most_by_packets = thresholds.packets;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const std::uint64_t most = thresholds.kernel[kind];
    const std::uint64_t copies_from = std::max<std::uint64_t>(least[kind].value_or(UINT64_MAX), 1);
    wanted.chunks[kind] = {std::min(most, copies_from - 1), most};
  }
  wanted.wait_seconds_per_byte = kWaitSecondsPerByte;
  return wanted;
}

std::string what_is_taken(const PairCopies& copies, const Thresholds& thresholds) {
  const std::string taken = taken_over(thresholds, copies.can_reduce(), copies.can_send());
  const std::string how =
      copies.is_staged() ? " by copy engines through slots; " : " by copy engines; ";
  std::string text = taken.empty() ? "" : taken + how;
  const Method wanted = wanted_method(thresholds, copies.ranks());
  if (copies.has_chunks()) {
    text = taken_by_chunks(wanted) + " by a kernel; " + text;
  } else if (wanted.has_chunks()) {
    text += "not all devices can exchange chunks; ";
  }
  if (copies.most_by_packets() > 0) {
    text = "calls up to " + std::to_string(copies.most_by_packets()) + " B as packets; " + text;
  } else if (wanted.most_by_packets > 0) {
    text += "not all devices can exchange packets; ";
  }
  if (wanted.reduces && !copies.can_reduce()) text += "not all devices can reduce; ";
  const bool nothing = taken.empty() && copies.most_by_packets() == 0 && !copies.has_chunks();
  return text + (nothing ? "all calls are forwarded" : "the rest is forwarded") +
         (thresholds.shipped ? "; by the thresholds that are shipped for its devices" : "");
}

bool is_blocking(const nccl::Config* config) {
  const char* forced = std::getenv("NCCL_COMM_BLOCKING");
  if (forced != nullptr && *forced != '\0') return std::string_view(forced) != "0";
  return config == nullptr || config->blocking != 0;
}

void log_forwarded(int ranks, const std::string& why) {
  log_info("communicator of " + std::to_string(ranks) + " ranks: all calls are forwarded: " + why);
}

// Before the first communicator of which calls are taken over: whether the real NCCL has functions
// that go past the drop-in.
void warn_of_unknown_functions() {
  std::string names;
  for (const std::string& each : unknown_functions()) names += (names.empty() ? "" : ", ") + each;
  if (names.empty()) return;
  log_warning("NCCL " + real_version() + " has functions that this drop-in does not know: " +
              names + "; what they enqueue is not in order with calls that are taken over");
}

void finish_and_enter(PendingCreation& pending) {
  std::unique_ptr<PairCopies> copies = pending.creation->finish(kStepSeconds);
  if (copies == nullptr) {
    log_forwarded(pending.creation->ranks(), pending.creation->reason());
    return;
  }
  pending.creation->release_test_memory();
  log_info("communicator of " + std::to_string(copies->ranks()) +
           " ranks: " + what_is_taken(*copies, pending.thresholds));
  if (!copies->why_no_segments().empty()) {
    log_info(
        "communicator of " + std::to_string(copies->ranks()) +
        " ranks: memory of cuMemCreate goes through staging buffers: " + copies->why_no_segments());
  }
  static std::once_flag warned;
  std::call_once(warned, warn_of_unknown_functions);
  enter(*pending.handle,
        std::make_shared<Communicator>(std::move(pending.device), std::move(copies), pending.name,
                                       pending.blocking, pending.thresholds));
}

// Of communicators whose ranks have all announced themselves. Before that a program that starts
// anew has aborted the old ones on all ranks, so that what they have left can make room.
void enter_announced(std::vector<PendingCreation*>& here) {
  if (!here.empty()) end_left();
  using Step = std::function<void(PendingCreation&)>;
  const Step steps[] = {
      [](PendingCreation& each) { each.creation->offer(); },
      [](PendingCreation& each) { each.creation->try_peers(kStepSeconds); },
      [](PendingCreation& each) { each.creation->map_slots(kStepSeconds); },
      finish_and_enter,
  };
  for (const Step& step : steps) {
    const auto fails = [&step](PendingCreation* each) {
      try {
        step(*each);
        return false;
      } catch (const PeerFailed& error) {  // on all its ranks
        log_forwarded(each->creation->ranks(), error.what());
        return true;
      }
    };
    here.erase(std::remove_if(here.begin(), here.end(), fails), here.end());
  }
}

}  // namespace

namespace {

std::string why_nothing_is_taken() {
  if (settings().mode == Mode::off) return "DUET_NCCL_MODE=off";
  if (is_forked()) return "this process was forked from one that calls NCCL";
  return is_set("NCCL_COMM_ID") ? "NCCL_COMM_ID is set" : "";
}

std::string no_threshold(const std::string& model, int ranks) {
  const std::string none = "no threshold is set (DUET_NCCL_MIN_...)";
  if (model.empty()) return none;
  return none + ", and none is shipped for " + std::to_string(ranks) + " x " + model;
}

}  // namespace

std::string why_forwarded(const nccl::Config* config) {
  const std::string why = why_nothing_is_taken();
  if (!why.empty()) return why;
  return is_blocking(config) ? "" : "it is nonblocking";
}

std::unique_ptr<PendingCreation> announce(nccl::Comm* handle, const std::string& name, int rank,
                                          int ranks, const FoundDevice& device) {
  if (ranks < 2) return nullptr;
  if (settings().ranks.value_or(ranks) != ranks) {
    log_forwarded(ranks, "DUET_NCCL_RANKS=" + std::to_string(*settings().ranks));
    return nullptr;
  }
  auto pending = std::make_unique<PendingCreation>();
  pending->handle = handle;
  pending->name = name;
  try {
    pending->thresholds = thresholds_for(device.model, ranks);
    if (pending->thresholds.is_empty()) throw Unavailable(no_threshold(device.model, ranks));
    pending->device = device.open();
    pending->creation = std::make_unique<Creation>(*pending->device, name, rank, ranks,
                                                   settings().hash(pending->thresholds),
                                                   wanted_method(pending->thresholds, ranks));
    return pending;
  } catch (const Error& error) {
    log_forwarded(ranks, error.what());
    return nullptr;
  }
}

std::unique_ptr<PendingCreation> announce_init(nccl::Comm* handle, const nccl::UniqueId* ids,
                                               int count, int rank, int ranks,
                                               const nccl::Config* config) {
  if (ranks < 2 || count < 1 || !settings_are_valid()) return nullptr;
  const std::string why = why_nothing_is_taken();
  if (!why.empty()) {
    log_forwarded(ranks, why);
    return nullptr;
  }
  try {
    const std::string name =
        shared_memory_name(ids, sizeof(nccl::UniqueId) * static_cast<std::size_t>(count), "init");
    auto pending = announce(handle, name, rank, ranks, current_device());
    if (pending != nullptr) pending->blocking = is_blocking(config);
    return pending;
  } catch (const Error& error) {
    log_forwarded(ranks, error.what());
    return nullptr;
  }
}

std::vector<std::unique_ptr<PendingCreation>> announce_all(
    nccl::Comm* handles, int ranks, const std::function<int(nccl::Comm)>& device_of) {
  std::vector<std::unique_ptr<PendingCreation>> pending;
  if (ranks < 2) return pending;
  const std::string why = why_forwarded(nullptr);
  try {
    if (!why.empty()) throw Unavailable(why);
    unsigned char random[16];
    if (getrandom(random, sizeof random, 0) != sizeof random) throw Unavailable("getrandom failed");
    const std::string name = shared_memory_name(random, sizeof random, "all");
    for (int rank = 0; rank < ranks; ++rank) {
      nccl::Comm* const handle = handles + rank;
      auto one = announce(handle, name, rank, ranks, device_number(device_of(*handle)));
      if (one == nullptr) return {};
      pending.push_back(std::move(one));
    }
    return pending;
  } catch (const Error& error) {
    log_forwarded(ranks, error.what());
    return {};
  }
}

nccl::Result enter_all(const std::vector<std::unique_ptr<PendingCreation>>& pending) {
  try {
    std::vector<PendingCreation*> here;
    for (const auto& each : pending) {
      if (each->refused && !each->creation->wait_announced(kStepSeconds, each->refused)) {
        log_forwarded(each->creation->ranks(), "another rank forwards them");
      } else if (each->creation->all_announced()) {
        here.push_back(each.get());
      } else {
        log_forwarded(each->creation->ranks(), each->creation->reason());
      }
    }
    enter_announced(here);
    return nccl::kSuccess;
  } catch (const Error& error) {
    log_error(std::string("creation of a communicator: ") + error.what());
    return nccl::kSystemError;
  }
}

}  // namespace duet::nccl_shim
