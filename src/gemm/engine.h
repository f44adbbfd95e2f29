// A GEMM engine is one library, or one way of calling it, on one kind of device.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine_registry.h"
#include "core/error.h"
#include "device/device.h"
#include "gemm/problem.h"

namespace duet {

// The matrices of one GEMM, in memory of one device.
struct GemmBuffers {
  Span a, b, c;
  // Where a problem accumulates, what A x B is added to, C's size; C itself where there is none.
  // Only plans that takes_addend() may be given another.
  std::optional<Span> addend = std::nullopt;
  std::optional<Span> aux = std::nullopt;  // of an epilogue: C's size and type
  // Of a problem that is scaled: one fp32 each.
  std::optional<Span> a_scale = std::nullopt, b_scale = std::nullopt;
};

// How an engine runs one problem. A plan may own a workspace: calls on different streams must not
// run at the same time.
class GemmPlan {
 public:
  virtual ~GemmPlan() = default;
  // Multiplies matrices of the problem's sizes and alignment, in memory of the plan's device; they
  // must live until the call is done. Any number of calls; never blocks or allocates device memory.
  virtual void enqueue(Stream& stream, const GemmBuffers& buffers) = 0;
  virtual bool takes_addend() const { return false; }
  virtual std::uint64_t workspace_bytes() const { return 0; }  // of device memory, its own
  virtual std::string algorithm() const { return ""; }  // the chosen algorithm, for the journal
  // Why C will hold no product to verify, if so: a simulated device computes small products only.
  virtual std::optional<Skipped> unverifiable(const GemmBuffers&) const { return std::nullopt; }
};

// By what an engine chooses its algorithm.
struct Tuning {
  double seconds = 6;    // about, per problem
  bool flushed = false;  // tune for calls with a flushed cache instead of calls back to back
  int units = 0;         // hint: compute units of the stream that will run the calls; 0: all
  // On host devices, in fp32: the same bits for every number of cores that the device has.
  bool reproducible = false;
  // Of a simulated device: memory traffic as a multiple of bytes(problem), where a study shows it;
  // 0: the device's model decides. Other devices ignore it.
  double simulated_traffic = 0;
  // Of a simulated device: small products of memory with contents are computed, so that they can be
  // verified; false: none is.
  bool simulated_products = true;
  // Memory that the plan may use as its workspace. It belongs to the caller and outlives the plan;
  // plans that share it must not run at the same time.
  std::optional<Span> workspace = std::nullopt;
};

class GemmEngine {
 public:
  virtual ~GemmEngine() = default;
  virtual std::string name() const = 0;         // "cublaslt-tuned"
  virtual std::string device_kind() const = 0;  // "cuda"
  // Why this engine cannot run the problem on this device, if so.
  virtual std::optional<Skipped> unsupported(Device& device, const GemmProblem& problem) const = 0;
  // Makes a plan, and tunes it if the engine tunes. Blocks; called outside the timed region. Tuning
  // multiplies `buffers`, which must hold input like that of later calls, because run time depends
  // on it.
  virtual std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem,
                                         const GemmBuffers& buffers, const Tuning& tuning) = 0;
};

// The reason of an engine that knows no epilogues.
Skipped no_epilogue(const GemmEngine& engine);

// Computes rows of A x B in double (int8: exactly), for verification: out[i * n + j] is (A x
// B)(rows[i], j).
using GemmReference = std::function<std::vector<double>(
    Device&, const GemmProblem&, const GemmBuffers&, const std::vector<std::int64_t>& rows)>;

// Called by modules when they are loaded.
void register_gemm_engine(std::unique_ptr<GemmEngine> engine);
void register_gemm_reference(const std::string& device_kind, GemmReference reference);

// The engines for a kind of device, and the modules that could not be loaded. Loads modules as
// EngineRegistry::find() does.
using GemmEngines = FoundEngines<GemmEngine>;
GemmEngines gemm_engines(const std::string& device_kind,
                         const std::vector<std::string>& wanted = {});
// The names of these engines. Modules that have a single engine are not loaded for it.
std::vector<std::string> gemm_engine_names_of(const std::string& device_kind);
const GemmReference& gemm_reference(const std::string& device_kind);  // throws Unavailable

}  // namespace duet
