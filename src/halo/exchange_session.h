// Halo exchange by collectives: a neighbor_exchange in place in each of the two fields, in turns.
#pragma once

#include <memory>

#include "collectives/engine.h"
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

// Sweeps and exchanges by an engine's neighbor_exchange. With overlap the boundary rows are swept
// before it, and the others beside it.
class ExchangeSession : public HaloSession {
 public:
  ExchangeSession(Team& team, std::unique_ptr<CollectiveSession> exchanges)
      : ranks_(team.size()), exchanges_(std::move(exchanges)) {}

  std::optional<Skipped> unsupported(const HaloTask& task) const override;
  std::optional<Skipped> uncapturable() const override { return exchanges_->uncapturable(); }
  bool usable() const override { return exchanges_->usable(); }
  void free_retired(Rank& rank) override { exchanges_->free_retired(rank); }

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override;

 private:
  int ranks_;
  std::unique_ptr<CollectiveSession> exchanges_;
};

// The engine of the same name. `engine` must outlive it.
std::unique_ptr<HaloEngine> halo_by(CollectiveEngine& engine);

}  // namespace duet
