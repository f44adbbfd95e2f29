// One rank's calls of a mixture-of-experts layer, for one routing: operations and collectives in
// phases. Which rows move is known when it is made, as it is where a framework uses a routing
// again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "gemm/grouped.h"
#include "moe/moe_memory.h"
#include "training/operations/operations.h"
#include "training/operations/step_timeline.h"

namespace duet {

inline constexpr double kMoeDeadline = 120;  // seconds for any wait outside the samples

// The phases, in their order; of all_gather neither pack nor sum.
inline constexpr const char* kMoePhases[] = {"route",   "pack",   "dispatch", "expand",
                                             "experts", "reduce", "combine",  "sum"};

class MoeLayer {
 public:
  // Collective: plans, and writes the logits. Without a session the experts alone multiply what is
  // there. The session, the operations and the memory must outlive it.
  MoeLayer(Rank& rank, MoeCall call, CollectiveSession* session, const MoeMemory& memory,
           Operations& operations, const Tuning& tuning);

  // Each phase is a part of the timeline.
  void enqueue(Stream& stream, StepTimeline* timeline = nullptr) const;
  std::size_t operations_queued() const;
  double wire_bytes() const;
  bool host_driven() const;
  std::string algorithm() const;       // of the collective that sends rows; "" without one
  std::string gemm_algorithm() const;  // of gate and up
  void poison_staging() const;         // blocking, while no rank is in a call
  const Tensor& result() const { return tensors_.out; }

  std::optional<Skipped> unverifiable() const;
  // Collective: compares the last call with the routing and the rows of X. Every row that is
  // multiplied is compared to the byte; of the products and of the sums some, with the tolerance of
  // their roundings. Throws Mismatch.
  void verify(Rank& rank, std::uint64_t fills) const;

 private:
  struct Phase {
    std::string name;
    std::function<void(Stream&)> enqueue;
  };

  const MoeShape& shape() const { return call_.routed->shape; }
  const ExchangedRows& rows() const { return *call_.rows; }
  std::int64_t own_experts() const { return call_.routed->experts_of_rank(); }
  void plan_experts(Rank& rank, const Tuning& tuning);
  void add_sending(Rank& rank, CollectiveSession& session);
  void add_expert_phases(bool exchanges);
  void add_returning(Rank& rank, CollectiveSession& session);
  void add(const char* phase, const AnyOperation& operation);
  void add(const char* phase, std::unique_ptr<CollectivePlan> plan);
  std::unique_ptr<CollectivePlan> plan_rows(Rank& rank, CollectiveSession& session,
                                            const Tensor& from, const Tensor& to,
                                            bool returns) const;

  void verify_routing(Rank& rank) const;
  void verify_expanded(Rank& rank, std::uint64_t fills) const;
  void verify_products(Rank& rank) const;
  void verify_product(Rank& rank, const GroupedGemmProblem& problem, const GemmBuffers& buffers,
                      std::int64_t row, double size) const;
  void verify_sums(Rank& rank) const;
  std::vector<double> own_part(Rank& rank, std::int64_t token) const;
  [[noreturn]] void mismatch(const Rank& rank, const std::string& what) const;

  const MoeCall call_;
  const int rank_;
  const MoeMemory& memory_;
  Operations& operations_;
  const MoeTensors tensors_;
  Tensor logits_;
  Buffer logits_memory_;
  GroupedGemmProblem up_problem_, down_problem_;
  std::unique_ptr<GroupedGemmPlan> up_, down_;
  std::vector<std::unique_ptr<CollectivePlan>> plans_;  // the rows' is the first
  std::vector<Phase> phases_;
};

}  // namespace duet
