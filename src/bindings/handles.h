// What the handles of duet.h stand for.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bindings/duet.h"
#include "bindings/standing_ranks.h"
#include "communicator/communicator.h"
#include "moe/token_exchange.h"
#include "runtime/overlap.h"

struct duet_rank {
  duet_comm* comm = nullptr;
  int local = 0;
  int index = 0;
  duet::Device* device = nullptr;
  duet::LocalRank* inside = nullptr;  // of duet_comm_each() on a simulated machine, while it runs
  // Of a rank of a group: the communicator's rank that it is, and the groups.
  duet_rank* of = nullptr;
  const duet::RankGroups* groups = nullptr;

  std::mutex mutex;                                 // guards what follows
  std::map<std::uintptr_t, duet_memory*> memories;  // by address

  duet_rank& whole() { return of != nullptr ? *of : *this; }
  // Runs `work` as this rank.
  void run(const std::function<void(duet::LocalRank&)>& work);
  // Of Duet's memory, or the device's own; {} for 0 bytes.
  duet::Span span(const void* data, std::uint64_t bytes);
};

struct duet_comm {
  duet::Communicator communicator;
  bool simulated = false;
  std::atomic<int> parts{0};             // memory, streams and calls that exist
  std::atomic<bool> interrupted{false};  // the duet_comm_each() of a simulated machine, or the next
  std::vector<std::unique_ptr<duet_rank>> ranks;
  std::optional<duet::bindings::StandingRanks> standing;  // not on simulated machines

  explicit duet_comm(const duet::CommunicatorOptions& options);
};

namespace duet::bindings {

// Something of a communicator, which must end before it.
class Part {
 public:
  explicit Part(duet_comm& comm) : comm_(comm) { ++comm_.parts; }
  ~Part() { --comm_.parts; }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  duet_comm& comm_;
};

}  // namespace duet::bindings

// While it exists, addresses in it are known to be Duet's.
struct duet_memory {
  duet_memory(duet_rank& of, std::unique_ptr<duet::CollectiveMemory> made);
  ~duet_memory();
  duet_memory(const duet_memory&) = delete;
  duet_memory& operator=(const duet_memory&) = delete;

  duet::bindings::Part part;
  duet_rank& rank;
  std::unique_ptr<duet::CollectiveMemory> memory;
};

struct duet_exchange {
  explicit duet_exchange(duet_rank& of) : part(*of.comm), rank(of) {}

  duet::bindings::Part part;
  duet_rank& rank;
  std::optional<duet::TokenExchange> exchange;
  std::int64_t experts = 0;                            // of all ranks
  std::vector<std::unique_ptr<duet_memory>> memories;  // of the exchange, which owns what they show
  duet_exchange_info info{};
};

struct duet_groups {
  duet_groups(duet_comm& comm, const std::vector<std::vector<int>>& divided);

  duet::bindings::Part part;
  duet::RankGroups groups;
  std::vector<std::unique_ptr<duet_rank>> ranks;  // by the local rank that each is
};

struct duet_stream {
  explicit duet_stream(duet_rank& of)
      : part(*of.comm), owned(of.device->make_stream()), stream(*owned) {}
  // A stream of another owner, while that one lends it.
  duet_stream(duet_comm& comm, duet::Stream& lent) : part(comm), stream(lent) {}

  duet::bindings::Part part;
  std::unique_ptr<duet::Stream> owned;
  duet::Stream& stream;
};

struct duet_call {
  explicit duet_call(duet_rank& of) : part(*of.comm) {}

  duet::bindings::Part part;
  duet::CollectiveCall call;
  std::string algorithm;
};

struct duet_overlap {
  duet_overlap(duet_rank& of, const duet::OverlapPolicy& policy, int works)
      : comm(*of.comm), part(comm), overlap(*of.device, policy, works) {}

  duet_comm& comm;
  duet::bindings::Part part;
  duet::Overlap overlap;
};
