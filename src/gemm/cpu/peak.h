// The CPU's multiply-add peak: register-only loops of the widest instruction for a dtype, the
// denominator for CPU GEMM rates. Not a GEMM: nothing is read from memory.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "core/dtype.h"
#include "timing/work.h"

namespace duet {

// The loop for a dtype on this CPU.
struct PeakLoop {
  std::string instruction;                           // "vfmadd231ps, 512 bits"
  long steps = 0;                                    // of a run: about 2 ms
  double flop_per_step = 0;                          // multiply and add count two
  double (*run)(long steps, double seed) = nullptr;  // returns the sums' total
};

// Skipped where the CPU has no instruction that multiplies the dtype.
std::variant<PeakLoop, Skipped> peak_loop(DType dtype);

class PeakWork : public Work {
 public:
  PeakWork(const PeakLoop& loop, int threads);

  std::string name() const override { return "fma-peak"; }
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  // The loops' sums are known: every step adds the same.
  void renew(Rank& rank) override;
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank&) noexcept override {}

 private:
  PeakLoop loop_;
  int threads_;
  double got_ = 0;
};

}  // namespace duet
