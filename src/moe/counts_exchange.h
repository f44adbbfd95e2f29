// How many rows ranks send each other, told to the hosts in every call: what a layer needs whose
// routing no host knows, and whose collectives take counts of the host.
#pragma once

#include <memory>
#include <string>

#include "collectives/engine.h"
#include "moe/exchanged_rows.h"
#include "training/operations/tensor.h"

namespace duet {

enum class MoeCounts {
  known,  // as in a backward pass, or where a routing is used again: nobody tells them
  host,   // exchanged; each host waits for them before it enqueues the rows
};
const char* name(MoeCounts counts);
MoeCounts parse_moe_counts(const std::string& text);  // throws UsageError

// One rank's, of one hop.
class CountsExchange {
 public:
  // Collective. The session and the hop must outlive it. `own`: experts of a rank. `checks`:
  // whether counts are computed, and so compared with the hop's.
  CountsExchange(Rank& rank, CollectiveSession& session, const RowHop& hop, std::int64_t own,
                 bool checks);

  const Tensor& offsets() const { return offsets_; }  // for GroupRows, of what is sent

  // Behind what writes offsets(): an all_gather of them, and a copy to pinned memory.
  void enqueue(Stream& stream) const;
  // Blocks until they have come. Throws Mismatch where they are not the hop's.
  void wait() const;

 private:
  void check() const;

  const int rank_;
  const RowHop& hop_;
  const std::int64_t own_;
  const bool checks_;
  Tensor offsets_, all_;  // (1, groups + 1), (ranks, groups + 1), int32
  std::unique_ptr<CollectiveMemory> offsets_memory_, all_memory_;
  Buffer host_;
  std::unique_ptr<CollectivePlan> plan_;
  // Beside the caller's stream, so that the host waits for nothing that is enqueued there behind.
  std::unique_ptr<Stream> copies_;
  std::unique_ptr<Event> gathered_;
};

}  // namespace duet
