// Grouped GEMMs: rows of one matrix are multiplied in groups, each by a matrix of its own, as the
// experts of a mixture-of-experts layer multiply the tokens that are routed to them.
//
//     group 0   A rows 0 .. rows[0]-1   x  B_0  =  C rows 0 .. rows[0]-1
//     group 1   the next rows[1] of A   x  B_1  =  the same rows of C
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/engine.h"

namespace duet {

// A is (all_rows, K), C (all_rows, N), both row-major, with the rows of a group behind those of the
// group before. B is one allocation with the groups' matrices one behind the other: (groups, K, N)
// in layout nn, (groups, N, K) in layout nt.
struct GroupedGemmProblem {
  std::vector<std::int64_t> rows;  // of each group; groups without rows are allowed
  std::int64_t n = 0, k = 0;
  DType dtype = DType::bf16;   // of A and B
  DType output = DType::bf16;  // of C
  Layout layout = Layout::nn;  // nn or nt

  std::size_t groups() const { return rows.size(); }
  std::int64_t all_rows() const;
  std::int64_t rows_of_largest() const;  // 0 without groups
  std::int64_t first_row(std::size_t group) const;
};

double flop(const GroupedGemmProblem& problem);  // 2 all_rows N K
// A read and C written once, and B once of each group that has rows.
double bytes(const GroupedGemmProblem& problem);
// "300 rows in 8 groups x 4096x7168 bf16 nn".
std::string name(const GroupedGemmProblem& problem);

// Bytes of the matrices.
std::uint64_t bytes_of_a(const GroupedGemmProblem& problem);
std::uint64_t bytes_of_b(const GroupedGemmProblem& problem);
std::uint64_t bytes_of_c(const GroupedGemmProblem& problem);

// The product of one group, and its part of the matrices.
GemmProblem product_of(const GroupedGemmProblem& problem, std::size_t group);
GemmBuffers part_of(const GroupedGemmProblem& problem, const GemmBuffers& buffers,
                    std::size_t group);

// The groups that have rows.
std::vector<std::size_t> filled_groups(const GroupedGemmProblem& problem);

// Tuning of a plan for each distinct number of rows but 0: all plans together take `seconds`.
Tuning tuning_of_each(Tuning tuning, const std::vector<std::int64_t>& rows);

// How an engine runs one problem on fixed matrices. Rows per group are those at planning.
class GroupedGemmPlan {
 public:
  virtual ~GroupedGemmPlan() = default;
  // Enqueues C = A x B of every group on a stream of the plan's device. Any number of calls, whose
  // work must not run at the same time; never allocates device memory, and blocks only if blocks().
  // Further streams that a plan uses fork from `stream` and join it again.
  virtual void enqueue(Stream& stream) = 0;
  // Whether enqueue() returns only when earlier work of the stream is done: a Work that calls it is
  // host_driven().
  virtual bool blocks() const { return false; }
  // What one enqueue() puts into the device's launch queue.
  virtual std::size_t operations() const = 0;
  virtual std::uint64_t workspace_bytes() const { return 0; }  // of device memory
  virtual std::string algorithm() const { return ""; }         // for the journal
  // Why C will hold no products to verify, if so: a simulated device computes small ones only.
  virtual std::optional<Skipped> unverifiable() const { return std::nullopt; }
};

class GroupedGemmEngine {
 public:
  virtual ~GroupedGemmEngine() = default;
  virtual std::string name() const = 0;         // "loop-cublaslt"
  virtual std::string device_kind() const = 0;  // "cuda"
  // Why this engine cannot run the problem on this device, if so.
  virtual std::optional<Skipped> unsupported(Device& device,
                                             const GroupedGemmProblem& problem) const = 0;
  // Makes a plan, and tunes it if the engine tunes. Blocks; called outside the timed region.
  // `buffers` has a, b and c, of which each is aligned to 256 bytes; the caller owns them, and they
  // and the device outlive the plan. Throws BadArgument for sizes that do not fit the problem, and
  // Unavailable where the engine cannot.
  virtual std::unique_ptr<GroupedGemmPlan> plan(Device& device, const GroupedGemmProblem& problem,
                                                const GemmBuffers& buffers,
                                                const Tuning& tuning) = 0;
};

// Throws BadArgument unless the layout is nn or nt, no size is negative, N and K are at least 1 and
// the matrices have the problem's sizes.
void check(const GroupedGemmProblem& problem, const GemmBuffers& buffers);

// Called by modules when they are loaded.
void register_grouped_gemm_engine(std::unique_ptr<GroupedGemmEngine> engine);

// The engines for a kind of device, and the modules that could not be loaded, which are loaded as
// gemm_engines() does: for each of its GEMM engines "loop-NAME", which multiplies one group after
// the other, and on GPUs and simulated devices "streams-NAME", which does so on four streams; then
// those that multiply all groups by one call.
using GroupedGemmEngines = FoundEngines<GroupedGemmEngine>;
GroupedGemmEngines grouped_gemm_engines(const std::string& device_kind,
                                        const std::vector<std::string>& wanted = {});
// The names of these engines. Modules that have a single engine are not loaded for it.
std::vector<std::string> grouped_gemm_engine_names_of(const std::string& device_kind);

// A plan by the engine that the device usually takes: of those that can run the problem and
// do not tune, one that multiplies groups on several streams, or, of small groups, all by one call;
// else the first one. Throws Unavailable with the reasons where none can.
std::unique_ptr<GroupedGemmPlan> plan_grouped_gemm(Device& device,
                                                   const GroupedGemmProblem& problem,
                                                   const GemmBuffers& buffers,
                                                   const Tuning& tuning = {});

}  // namespace duet
