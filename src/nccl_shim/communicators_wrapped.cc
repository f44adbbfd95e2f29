// The functions that make and end communicators, as the drop-in's libraries export them.
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "nccl_shim/creations.h"
#include "nccl_shim/groups.h"
#include "nccl_shim/log.h"
#include "nccl_shim/wrapped.h"

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
  if (pending == nullptr || result != nccl::kSuccess) return result;
  if (!in_group()) return enter_all(list_of(std::move(pending)));
  queue_creation(std::move(pending));
  return result;
}

// Enters a part of a communicator that the real ncclCommSplit has made.
nccl::Result enter_split(nccl::Comm* handle, const std::string& parent, const std::string& part) {
  if (*handle == nullptr) return nccl::kSuccess;  // this rank is in no part
  using Ask = nccl::Result (*)(nccl::Comm, int*);
  int rank = 0, ranks = 0;
  for (const auto& [name, answer] :
       {std::make_pair("ncclCommUserRank", &rank), std::make_pair("ncclCommCount", &ranks)}) {
    const auto ask = reinterpret_cast<Ask>(real_function_or_refusal(name));
    const nccl::Result result = ask(*handle, answer);
    if (result != nccl::kSuccess) return result;
  }
  std::unique_ptr<PendingCreation> pending;
  try {
    pending = announce(handle, segment_name(parent.data(), parent.size(), part), rank, ranks,
                       open_current_device());
  } catch (const Error& error) {
    log_error(std::string("ncclCommSplit: ") + error.what());
    return nccl::kSystemError;
  }
  if (pending == nullptr) return nccl::kSuccess;
  pending->all_come = true;
  return enter_all(list_of(std::move(pending)));
}

void abort_copies(Communicator& communicator) {
  communicator.copies->abort(kAbortSeconds);
  const std::string warning = communicator.copies->warning();
  if (!warning.empty()) log_error("abort: " + warning);
}

}  // namespace
}  // namespace duet::nccl_shim

using namespace duet::nccl_shim;  // the functions below have names of C
using duet::nccl::Comm;
using duet::nccl::Config;
using duet::nccl::Result;
using duet::nccl::UniqueId;

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

DUET_NCCL_WRAPPER(ncclCommSplit)(Comm comm, int color, int key, Comm* part, Config* config) {
  DUET_NCCL_REAL(ncclCommSplit);
  const std::shared_ptr<Communicator> parent = find(comm);
  const Result result = real(comm, color, key, part, config);
  if (parent == nullptr) return result;
  const std::string name = std::to_string(parent->splits++) + " " + std::to_string(color);
  if (result != duet::nccl::kSuccess || !is_blocking(config)) return result;
  const auto enter = [=] { return enter_split(part, parent->name, name); };
  if (!in_group()) return enter();
  queue_completion(enter);
  return result;
}

DUET_NCCL_WRAPPER(ncclCommFinalize)(Comm comm) {
  DUET_NCCL_REAL(ncclCommFinalize);
  if (const auto found = find(comm)) found->copies->drain();
  return real(comm);
}

DUET_NCCL_WRAPPER(ncclCommDestroy)(Comm comm) {
  DUET_NCCL_REAL(ncclCommDestroy);
  take_out(comm).reset();
  return real(comm);
}

DUET_NCCL_WRAPPER(ncclCommAbort)(Comm comm) {
  DUET_NCCL_REAL(ncclCommAbort);
  if (const auto taken = take_out(comm)) abort_copies(*taken);
  return real(comm);
}

DUET_NCCL_WRAPPER(ncclCommRevoke)(Comm comm, int flags) {
  DUET_NCCL_REAL(ncclCommRevoke);
  if (const auto found = find(comm)) abort_copies(*found);
  return real(comm, flags);
}

DUET_NCCL_WRAPPER(ncclCommGetAsyncError)(Comm comm, Result* error) {
  DUET_NCCL_REAL(ncclCommGetAsyncError);
  const auto found = find(comm);
  if (found == nullptr || found->copies->error().empty()) return real(comm, error);
  *error = duet::nccl::kRemoteError;
  return duet::nccl::kSuccess;
}
