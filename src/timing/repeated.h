// A Work that runs another Work several times in a row, as nano-batches do.
#pragma once

#include <algorithm>
#include <string>

#include "timing/work.h"

namespace duet {

class Repeated : public Work {
 public:
  // The piece must outlive it. Throws BadArgument for fewer than one time.
  Repeated(Work& piece, int times) : piece_(piece), times_(times) {
    if (times >= 1) return;
    throw BadArgument(piece.name() + " " + std::to_string(times) + " times: expected once or more");
  }

  std::string name() const override { return piece_.name(); }
  // Of all repetitions together.
  Cost cost() const override { return times(piece_.cost(), times_); }
  void prepare(Rank& rank, const Placement& placement) override { piece_.prepare(rank, placement); }
  // Enqueues the piece `times` times, on the same buffers.
  void enqueue(Rank& rank, Stream& stream) override {
    for (int i = 0; i < times_; ++i) piece_.enqueue(rank, stream);
  }
  // The piece's number, not multiplied: a sample covers all repetitions.
  int calls() const override { return piece_.calls(); }
  bool host_driven() const override { return piece_.host_driven(); }
  int most_queued() const override { return std::max(1, piece_.most_queued() / times_); }
  void renew(Rank& rank) override { piece_.renew(rank); }
  std::optional<Skipped> verify(Rank& rank) override { return piece_.verify(rank); }
  void release(Rank& rank) noexcept override { piece_.release(rank); }

 private:
  Work& piece_;
  int times_;
};

}  // namespace duet
