#include "halo/parts.h"

namespace duet {

SweepParts::SweepParts(Rank& rank, const HaloTask& task)
    : sweeper_(make_sweeper(rank.device)),
      shape_{task.grid.nx, rows_of(task.grid, ring_of(rank, task.grid).index).count} {
  if (!task.overlap) {
    before_.first = {1, shape_.rows + 1};
    return;
  }
  const BoundaryRows boundary = boundary_of(shape_);
  before_ = {boundary.first, boundary.last};
  beside_.first = interior_of(shape_);
}

std::int64_t SweepParts::partials_of(const Rows& rows) const {
  if (rows.first.count() + rows.also.count() == 0) return 0;
  return sweeper_->partials(shape_, rows.first, rows.also);
}

void SweepParts::sweep(Stream& stream, const Span& from, const Span& to, const Rows& rows,
                       const Span& partials) const {
  if (rows.first.count() + rows.also.count() == 0) return;
  sweeper_->sweep(stream, {shape_, from, to, rows.first, rows.also, partials});
}

void SweepParts::sweep_before(Stream& stream, const Span& from, const Span& to,
                              const Span& partials) const {
  const auto bytes = static_cast<std::size_t>(partials_of(before_)) * sizeof(double);
  sweep(stream, from, to, before_, partials.bytes > 0 ? partials.slice(0, bytes) : Span{});
}

void SweepParts::sweep_beside(Stream& stream, const Span& from, const Span& to,
                              const Span& partials) const {
  const auto bytes = static_cast<std::size_t>(partials_of(before_)) * sizeof(double);
  sweep(stream, from, to, beside_,
        partials.bytes > 0 ? partials.slice(bytes, partials.bytes - bytes) : Span{});
}

}  // namespace duet
