// The CPU's multiply-add peak, to which GEMM rates on the CPU are compared. Loops of the widest
// instruction for a dtype work on registers only; nothing is read from memory.
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
  long steps = 0;                                    // of one run, about 2 ms
  double flop_per_step = 0;                          // a multiply-add counts as 2
  double (*run)(long steps, double seed) = nullptr;  // returns the total of all accumulators
};

// The loop of the widest instruction that this CPU has for the dtype. Skipped if there is none, or
// Duet has no loop for it.
std::variant<PeakLoop, Skipped> peak_loop(DType dtype);

class PeakWork : public Work {
 public:
  PeakWork(const PeakLoop& loop, int threads);

  std::string name() const override { return "fma-peak"; }
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  void renew(Rank& rank) override;
  // Compares the loops' total with its known value: every step adds the same.
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank&) noexcept override {}

 private:
  PeakLoop loop_;
  int threads_;
  double got_ = 0;
};

}  // namespace duet
