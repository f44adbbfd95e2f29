#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "bindings/handles.h"
#include "bindings/status.h"
#include "team/address.h"
#include "team/processes.h"

namespace duet::bindings {
namespace {

constexpr std::uint64_t kMostBroadcast = 4096;  // bytes; Launch::broadcast
constexpr std::size_t kLeastToken = 16;         // as of DUET_TOKEN (docs/security.md)

// Those that are open, for functions that other threads may call while one closes.
struct OpenCommunicators {
  std::mutex mutex;
  std::set<const duet_comm*> all;
};
OpenCommunicators& open_communicators() {
  static auto* const open = new OpenCommunicators;  // threads may outlive main()
  return *open;
}

// Throws BadArgument where the communicator is closed. Meanwhile it stays open.
std::unique_lock<std::mutex> keep_open(const duet_comm* comm, const char* function) {
  require_pointer(comm, function);
  OpenCommunicators& open = open_communicators();
  std::unique_lock<std::mutex> lock(open.mutex);
  if (open.all.count(comm) == 0) {
    throw BadArgument(fmt::format("{}: expected an open communicator", function));
  }
  return lock;
}

void set_open(const duet_comm* comm, bool is_open) {
  OpenCommunicators& open = open_communicators();
  const std::lock_guard<std::mutex> lock(open.mutex);
  if (is_open) {
    open.all.insert(comm);
  } else {
    open.all.erase(comm);
  }
}

std::string text_or(const char* text, const char* otherwise) {
  return text == nullptr ? otherwise : text;
}

std::string broadcast_by(const duet_bootstrap& how, const std::string& mine) {
  std::vector<char> bytes(kMostBroadcast);
  std::copy(mine.begin(), mine.end(), bytes.begin());
  std::uint64_t length = mine.size();
  std::int32_t done = 0;
  how.broadcast(how.user, bytes.data(), bytes.size(), &length, &done);
  if (done != 1) throw Error("bootstrap: the program's broadcast failed");
  if (length > bytes.size()) {
    throw BadArgument(fmt::format("bootstrap: broadcast gave {} bytes: expected {} at most", length,
                                  bytes.size()));
  }
  return {bytes.data(), length};
}

Launch launch_of(const duet_bootstrap& how) {
  if (how.count < 1 || how.index < 0 || how.index >= how.count) {
    throw BadArgument(
        fmt::format("bootstrap: process {} of {}: expected 0 to count - 1", how.index, how.count));
  }
  Launch launch;
  launch.index = how.index;
  launch.size = how.count;
  launch.one_node = how.one_node != 0;
  if (how.has_local != 0) launch.local_index = how.local_index;
  if (how.count == 1) return launch;
  if (how.broadcast != nullptr) {
    launch.broadcast = [how](const std::string& mine) { return broadcast_by(how, mine); };
    return launch;
  }
  if (how.address == nullptr || how.token == nullptr || how.port < 1 || how.port > 65535) {
    throw BadArgument("bootstrap: expected broadcast, or address, port and token");
  }
  launch.addresses = {how.address};
  launch.port = how.port;
  launch.secret = how.token;
  const std::size_t length = launch.secret.size();
  if (length < kLeastToken && !(length == 0 && is_loopback(how.address))) {
    throw BadArgument(fmt::format(
        "bootstrap: expected a token of {} characters or more, since others reach {} as well",
        kLeastToken, how.address));
  }
  return launch;
}

CommunicatorOptions options_of(const duet_comm_options* given) {
  CommunicatorOptions options;
  if (given == nullptr) return options;
  const auto read = read_struct(given, "duet_comm_options");
  options.device = text_or(read.device, options.device.c_str());
  options.engine = text_or(read.engine, options.engine.c_str());
  if (read.deadline > 0) options.deadline_seconds = read.deadline;
  options.port = read.port;
  options.node_size = read.node_size;
  if (read.bootstrap != nullptr) {
    options.launch = launch_of(read_struct(read.bootstrap, "duet_bootstrap"));
  }
  return options;
}

void copy_text(const std::string& from, char* to, std::size_t room) {
  std::snprintf(to, room, "%s", from.c_str());
}

// Calls fn as one rank. Throws where it does not say that it is done.
void call_as(duet_rank& rank, duet_rank_function fn, void* user) {
  std::int32_t done = 0;
  fn(user, &rank, &done);
  if (done != 1) throw Error("its function failed");
}

void each_rank_inside(duet_comm& comm, duet_rank_function fn, void* user) {
  comm.communicator.each([&](LocalRank& own) {
    if (comm.interrupted) throw Interrupted();
    duet_rank& rank = *comm.ranks[static_cast<std::size_t>(own.local())];
    rank.inside = &own;
    try {
      call_as(rank, fn, user);
    } catch (...) {
      rank.inside = nullptr;
      throw;
    }
    rank.inside = nullptr;
  });
}

void each_inside(duet_comm& comm, duet_rank_function fn, void* user) {
  try {
    each_rank_inside(comm, fn, user);
  } catch (...) {
    if (comm.interrupted.exchange(false)) throw Interrupted();
    throw;
  }
  comm.interrupted = false;
}

void each_standing(duet_comm& comm, duet_rank_function fn, void* user) {
  StandingRanks& standing = *comm.standing;
  standing.have_heard();
  std::vector<std::uint64_t> before;
  for (const auto& rank : comm.ranks) before.push_back(standing.heard(rank->local));
  std::mutex mutex;
  std::exception_ptr first;
  const auto call_one = [&](std::size_t local) {
    duet_rank& rank = *comm.ranks[local];
    try {
      call_as(rank, fn, user);
      rank.run([](LocalRank& own) { own.barrier("all ranks to end", kNoDeadline); });
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (std::exchange(first, first == nullptr ? std::current_exception() : first) != nullptr) {
        return;
      }
      // Unless it is a failure already, by which the function has ended.
      if (standing.heard(rank.local) != before[local]) return;
      status_of(first);
      standing.fail(rank.index, duet_last_error());
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t local = 1; local < comm.ranks.size(); ++local) {
    threads.emplace_back(call_one, local);
  }
  call_one(0);
  for (std::thread& each : threads) each.join();
  if (first == nullptr) return;
  standing.have_heard(before);
  std::rethrow_exception(first);
}

}  // namespace
}  // namespace duet::bindings

using duet::BadArgument;
using duet::bindings::guarded;
using duet::bindings::require_pointer;

duet_comm::duet_comm(const duet::CommunicatorOptions& options)
    : communicator(options), simulated(options.device.rfind("sim", 0) == 0) {
  for (int local = 0; local < communicator.local_size(); ++local) {
    ranks.push_back(std::make_unique<duet_rank>());
    ranks.back()->comm = this;
    ranks.back()->local = local;
    ranks.back()->index = communicator.first_local() + local;
  }
  communicator.each([this](duet::LocalRank& rank) {
    ranks[static_cast<std::size_t>(rank.local())]->device = &rank.device();
  });
  if (!simulated) standing.emplace(communicator);
}

duet_groups::duet_groups(duet_comm& comm, const std::vector<std::vector<int>>& divided)
    : part(comm), groups(comm.communicator.divide(divided)) {
  for (const auto& rank : comm.ranks) {
    ranks.push_back(std::make_unique<duet_rank>());
    duet_rank& own = *ranks.back();
    own.comm = &comm;
    own.local = rank->local;
    own.device = rank->device;
    own.of = rank.get();
    own.groups = &groups;
    for (const std::vector<int>& each : divided) {
      const auto found = std::find(each.begin(), each.end(), rank->index);
      if (found != each.end()) own.index = static_cast<int>(found - each.begin());
    }
  }
}

void duet_rank::run(const std::function<void(duet::LocalRank&)>& work) {
  if (of != nullptr) {
    return of->run([&](duet::LocalRank& own) {
      duet::LocalRank in_group = groups->of(own);
      work(in_group);
    });
  }
  if (inside != nullptr) {
    try {
      return work(*inside);
    } catch (const duet::PeerFailed&) {
      if (comm->interrupted) throw duet::Interrupted();
      throw;
    }
  }
  if (!comm->standing) {
    throw BadArgument("a rank of a simulated machine: expected a call inside of duet_comm_each()");
  }
  comm->standing->run(local, work);
}

duet::Span duet_rank::span(const void* data, std::uint64_t bytes) {
  if (bytes == 0) return {};
  if (of != nullptr) return of->span(data, bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto behind = memories.upper_bound(address);
    if (behind != memories.begin()) {
      const duet::Span whole = std::prev(behind)->second->memory->span();
      const std::uint64_t offset = address - std::prev(behind)->first;
      if (offset < whole.bytes) return whole.slice(offset, bytes);
    }
  }
  return device->adopt(const_cast<void*>(data), bytes);
}

duet_status duet_comm_open(const duet_comm_options* options, duet_comm** comm) noexcept {
  return guarded([&] {
    require_pointer(comm, "duet_comm_open: comm");
    *comm = nullptr;
    auto made = std::make_unique<duet_comm>(duet::bindings::options_of(options));
    duet::bindings::set_open(made.get(), true);
    *comm = made.release();
  });
}

duet_status duet_comm_close(duet_comm* comm) noexcept {
  return guarded([&] {
    if (comm == nullptr) return;
    if (comm->parts > 0) {
      throw BadArgument(
          fmt::format("duet_comm_close: expected all calls, memory, streams, overlaps, "
                      "exchanges and groups to have ended: {} exist",
                      comm->parts.load()));
    }
    if (comm->standing) comm->standing->close();  // may be interrupted
    duet::bindings::set_open(comm, false);
    delete comm;
  });
}

void duet_comm_abandon(duet_comm* comm) noexcept {
  if (comm == nullptr) return;
  guarded([&] {
    const auto open = duet::bindings::keep_open(comm, "duet_comm_abandon");
    comm->communicator.abandon("its program has abandoned the communicator");
  });
}

duet_status duet_comm_get_info(duet_comm* comm, duet_comm_info* info) noexcept {
  return guarded([&] {
    require_pointer(comm, "duet_comm_get_info: comm");
    const duet::Communicator& of = comm->communicator;
    duet::bindings::write_struct(info, {0, of.size(), of.local_size(), of.first_local(), 0},
                                 "duet_comm_info");
  });
}

duet_status duet_comm_failure(duet_comm* comm, duet_text** why) noexcept {
  return guarded([&] {
    require_pointer(why, "duet_comm_failure: why");
    *why = nullptr;
    const auto open = duet::bindings::keep_open(comm, "duet_comm_failure");
    *why = new duet_text{comm->standing ? comm->standing->failure() : comm->communicator.failure()};
  });
}

duet_status duet_comm_interrupt(duet_comm* comm) noexcept {
  return guarded([&] {
    const auto open = duet::bindings::keep_open(comm, "duet_comm_interrupt");
    if (comm->standing) return comm->standing->interrupt();
    comm->interrupted = true;
    comm->communicator.fail(comm->communicator.first_local(), "interrupted");
  });
}

duet_status duet_comm_rank(duet_comm* comm, int32_t local, duet_rank** rank) noexcept {
  return guarded([&] {
    require_pointer(comm, "duet_comm_rank: comm");
    require_pointer(rank, "duet_comm_rank: rank");
    *rank = nullptr;
    const auto count = static_cast<int32_t>(comm->ranks.size());
    if (local < 0 || local >= count) {
      throw BadArgument(fmt::format("duet_comm_rank: {}: expected 0 to {}", local, count - 1));
    }
    if (comm->simulated) {
      throw duet::Unavailable("duet_comm_rank: expected duet_comm_each() on a simulated machine");
    }
    *rank = comm->ranks[static_cast<std::size_t>(local)].get();
  });
}

duet_status duet_comm_each(duet_comm* comm, duet_rank_function fn, void* user) noexcept {
  return guarded([&] {
    require_pointer(comm, "duet_comm_each: comm");
    if (fn == nullptr) throw BadArgument("duet_comm_each: expected a function");
    if (comm->simulated) return duet::bindings::each_inside(*comm, fn, user);
    duet::bindings::each_standing(*comm, fn, user);
  });
}

// Ranks stand anew behind it.
duet_status duet_comm_divide(duet_comm* comm, const int32_t* ranks, int32_t group_ranks,
                             duet_groups** groups) noexcept {
  return guarded([&] {
    require_pointer(comm, "duet_comm_divide: comm");
    require_pointer(groups, "duet_comm_divide: groups");
    *groups = nullptr;
    require_pointer(ranks, "duet_comm_divide: ranks");
    const int all = comm->communicator.size();
    if (group_ranks < 1 || all % group_ranks != 0) {
      throw BadArgument(fmt::format(
          "duet_comm_divide: groups of {}: expected a divisor of {} ranks", group_ranks, all));
    }
    std::vector<std::vector<int>> divided;
    for (int first = 0; first < all; first += group_ranks) {
      divided.emplace_back(ranks + first, ranks + first + group_ranks);
    }
    if (comm->standing) comm->standing->close();
    std::exception_ptr error;
    try {
      *groups = std::make_unique<duet_groups>(*comm, divided).release();
    } catch (...) {
      error = std::current_exception();
    }
    if (comm->standing) {
      const auto open = duet::bindings::keep_open(comm, "duet_comm_divide");
      comm->standing.reset();
      comm->standing.emplace(comm->communicator);
    }
    if (error != nullptr) std::rethrow_exception(error);
  });
}

duet_status duet_groups_rank(duet_groups* groups, duet_rank* rank, duet_rank** in_group) noexcept {
  return guarded([&] {
    require_pointer(groups, "duet_groups_rank: groups");
    require_pointer(rank, "duet_groups_rank: rank");
    require_pointer(in_group, "duet_groups_rank: in_group");
    *in_group = nullptr;
    duet_rank& own = *groups->ranks.at(static_cast<std::size_t>(rank->local));
    if (own.of != rank) throw BadArgument("duet_groups_rank: expected a rank of the communicator");
    *in_group = &own;
  });
}

void duet_groups_close(duet_groups* groups) noexcept { delete groups; }

duet_status duet_rank_get_info(duet_rank* rank, duet_rank_info* info) noexcept {
  return guarded([&] {
    require_pointer(rank, "duet_rank_get_info: rank");
    const duet::DeviceInfo& device = rank->device->info();
    duet_rank_info made{};
    made.index = rank->index;
    made.local = rank->local;
    made.ordinal = device.ordinal;
    made.cpu_addressable = device.cpu_addressable ? 1 : 0;
    duet::bindings::copy_text(device.kind, made.kind, sizeof made.kind);
    duet::bindings::copy_text(device.model, made.model, sizeof made.model);
    duet::bindings::write_struct(info, made, "duet_rank_info");
  });
}

duet_status duet_barrier(duet_rank* rank, const char* what, double seconds) noexcept {
  return guarded([&] {
    require_pointer(rank, "duet_barrier: rank");
    const std::string name = duet::bindings::text_or(what, "the other ranks");
    rank->run([&](duet::LocalRank& own) {
      own.barrier(name, seconds > 0 ? seconds : duet::kDefaultDeadlineSeconds);
    });
  });
}
