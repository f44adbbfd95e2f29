// A GEMM engine: one library, or one way of asking it, on one kind of device.
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

struct GemmBuffers {
  Span a, b, c;
};

// Bound to its buffers, which must outlive it. enqueue() never blocks or allocates.
class GemmPlan {
 public:
  virtual ~GemmPlan() = default;
  virtual void enqueue(Stream& stream) = 0;
  virtual std::string algorithm() const { return ""; }  // what was chosen, for the journal
  // Why C will hold no product to verify, if so: a model of time computes small products only.
  virtual std::optional<Skipped> unverifiable() const { return std::nullopt; }
};

// What engines choose by, by trying or by rule.
struct Tuning {
  double seconds = 6;    // for a problem, about
  bool flushed = false;  // choose for calls that find the cache flushed, not for calls back to back
  int units = 0;         // compute units that the stream of the calls will have; 0: all. A hint
};

class GemmEngine {
 public:
  virtual ~GemmEngine() = default;
  virtual std::string name() const = 0;         // "cublaslt-tuned"
  virtual std::string device_kind() const = 0;  // "cuda"
  // Why this engine cannot run the problem on this device, if so.
  virtual std::optional<Skipped> unsupported(Device& device, const GemmProblem& problem) const = 0;
  // Tunes where the engine does; blocking, outside all timing. The buffers hold the real input, so
  // that tuning sees what will run.
  virtual std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem,
                                         const GemmBuffers& buffers, const Tuning& tuning) = 0;
};

// Rows of C computed device-side in double (int8: exactly), for verification: out[i * n + j] is
// C(rows[i], j).
using GemmReference = std::function<std::vector<double>(
    Device&, const GemmProblem&, const GemmBuffers&, const std::vector<std::int64_t>& rows)>;

void register_gemm_engine(std::unique_ptr<GemmEngine> engine);
void register_gemm_reference(const std::string& device_kind, GemmReference reference);

// The engines for a kind of device, and the modules that could not be loaded;
// EngineRegistry::find() says which modules are.
using GemmEngines = FoundEngines<GemmEngine>;
GemmEngines gemm_engines(const std::string& device_kind,
                         const std::vector<std::string>& wanted = {});
// The same names, without loading what brings one engine alone.
std::vector<std::string> gemm_engine_names_of(const std::string& device_kind);
const GemmReference& gemm_reference(const std::string& device_kind);  // throws Unavailable

}  // namespace duet
