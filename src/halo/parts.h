#pragma once

#include <memory>

#include "halo/engine.h"

namespace duet {

// A rank's sweep as plans without a kernel of their own make it: before the exchange all rows or,
// with overlap, the boundary rows; and beside the exchange the rows between.
class SweepParts {
 public:
  SweepParts(Rank& rank, const HaloTask& task);

  const FieldShape& shape() const { return shape_; }
  std::int64_t partials() const { return partials_of(before_) + partials_of(beside_); }
  // `partials`: for those of the whole iteration; empty: no norm.
  void sweep_before(Stream& stream, const Span& from, const Span& to, const Span& partials) const;
  void sweep_beside(Stream& stream, const Span& from, const Span& to, const Span& partials) const;

 private:
  struct Rows {
    FieldRows first, also;
  };

  std::int64_t partials_of(const Rows& rows) const;
  void sweep(Stream& stream, const Span& from, const Span& to, const Rows& rows,
             const Span& partials) const;

  std::unique_ptr<Sweeper> sweeper_;
  FieldShape shape_;
  Rows before_, beside_;
};

}  // namespace duet
