// A device's multiplications in a round of a soak: one product again and again, each result
// compared to the bit with the first one, which is checked.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gemm/engine.h"
#include "soak/finding.h"
#include "soak/plan.h"
#include "team/team.h"

namespace duet {

class SoakGemm {
 public:
  // Allocates matrices and memory for two sets of at most `most` products, fills the inputs (with
  // equal bits on devices of one model), plans, and makes the first product.
  SoakGemm(Rank& rank, GemmEngine& engine, const SoakRoundPlan& plan, int most);
  SoakGemm(const SoakGemm&) = delete;
  SoakGemm& operator=(const SoakGemm&) = delete;

  // Checks the first product against the reference.
  std::optional<SoakFinding> check_first() const;
  // Compares it with that of another device, of which it must be a copy to the bit.
  std::optional<SoakFinding> compare_first(const SoakGemm& other) const;
  // Whether that can be: equal models, compute units and algorithms.
  bool comparable(const SoakGemm& other) const;

  // Enqueues the products of set 0 or 1; `repeats`: how often each is made.
  void enqueue(int set, int products, int repeats);
  // Waits for the set's products and returns the seconds that they took.
  double wait(int set);
  // Compares the set's products; none is in use. `wrong` grows by those that differ.
  std::vector<SoakFinding> check(int set, int products, int& wrong);

  Stream& stream() { return *stream_; }
  const Span& product(int set) const {
    return slots_[static_cast<std::size_t>(set * most_)].span();
  }
  std::uint64_t product_bytes() const { return first_.bytes(); }

 private:
  struct Set {
    std::unique_ptr<Event> begin, end;
  };
  GemmBuffers into(const Span& c) const { return {a_.span(), b_.span(), c}; }
  void multiply(const Span& c, Stream& stream);
  SoakFinding placed(const Span& slot, const Difference& difference);
  std::optional<SoakFinding> changed_input(const Span& matrix, const Fill& fill,
                                           const char* name) const;

  Device& device_;
  GemmEngine& engine_;
  GemmProblem problem_;
  int most_;
  Fill fill_a_, fill_b_;
  Buffer a_, b_, first_;
  std::vector<Buffer> slots_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<GemmPlan> plan_;  // uses the memory
  Set sets_[2];
};

}  // namespace duet
