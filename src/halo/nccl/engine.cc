// NCCL as an engine: a group of two sends and two receives on the caller's stream or, with overlap,
// on a stream of high priority beside the interior.
#include "halo/nccl/engine.h"

#include <fmt/format.h>

#include "collectives/nccl/communicators.h"
#include "collectives/nccl/module.h"
#include "collectives/nccl/vendor.h"
#include "halo/nccl/exchange.h"
#include "halo/parts.h"

namespace duet::nccl {
namespace {

constexpr double kFirstExchangeSeconds = 120;

class NcclHaloPlan : public HaloPlan {
 public:
  NcclHaloPlan(std::shared_ptr<Communicators> communicators, Rank& rank, const HaloTask& task)
      : communicators_(std::move(communicators)),
        local_(rank.local),
        comm_(communicators_->comm_rank(rank).comm),
        ring_(ring_of(rank, task.grid)),
        overlap_(task.overlap),
        parts_(rank, task),
        fields_(rank.device.allocate(2 * shape().bytes())) {
    if (!overlap_) return;
    lane_ = rank.device.make_stream({rank.device.info().priorities - 1});
    swept_ = rank.device.make_event(EventUse::order);
    exchanged_ = rank.device.make_event(EventUse::order);
  }

  const FieldShape& shape() const override { return parts_.shape(); }
  Span field(int parity) const override {
    return fields_.slice(static_cast<std::size_t>(parity) * shape().bytes(), shape().bytes());
  }
  std::int64_t partials() const override { return parts_.partials(); }

  // In the first exchange NCCL connects the ranks. Collective and blocking.
  void first_exchange(Rank& rank) {
    const std::shared_ptr<Stream> stream = rank.device.make_stream();
    communicators_->together(
        rank, "the first exchange of rows on all ranks",
        [stream, &library = communicators_->library(), comm = comm_, ring = ring_,
         rows = rows_of_field(0), points = points(), &device = rank.device] {
          device.make_current();
          exchange_rows(library, comm, ring, rows, points, stream->native());
        });
    try {
      stream->synchronize(kFirstExchangeSeconds);
    } catch (...) {
      communicators_->give_up();
      throw;
    }
  }

  void enqueue(Stream& stream, const Iteration& iteration) override {
    const int written = 1 - iteration.parity;
    const Span from = field(iteration.parity), to = field(written);
    parts_.sweep_before(stream, from, to, iteration.partials);
    if (!overlap_) return exchange(stream, written);
    stream.record(*swept_);
    lane_->wait(*swept_);
    exchange(*lane_, written);
    lane_->record(*exchanged_);
    parts_.sweep_beside(stream, from, to, iteration.partials);
    stream.wait(*exchanged_);
  }

  std::string algorithm() const override {
    const Library& library = communicators_->library();
    return fmt::format("{} {}, grouped sends and receives{}", library.product,
                       version_text(library.version), library.nvls_off ? ", NVLS off" : "");
  }

 private:
  std::size_t points() const { return static_cast<std::size_t>(shape().nx); }

  HaloRowAddresses rows_of_field(int parity) const {
    const auto row = [&](std::int64_t at) { return row_at(field(parity), shape(), at).data; };
    return {row(1), row(shape().rows), row(0), row(shape().rows + 1)};
  }

  void exchange(Stream& stream, int parity) {
    stream.device().make_current();
    try {
      communicators_->enqueue(local_, [&] {
        exchange_rows(communicators_->library(), comm_, ring_, rows_of_field(parity), points(),
                      stream.native());
      });
    } catch (...) {
      communicators_->give_up();
      throw;
    }
  }

  std::shared_ptr<Communicators> communicators_;
  int local_;
  Comm comm_;
  Ring ring_;
  bool overlap_;
  SweepParts parts_;
  Buffer fields_;
  std::unique_ptr<Stream> lane_;  // with overlap
  std::unique_ptr<Event> swept_, exchanged_;
};

class NcclHaloSession : public HaloSession {
 public:
  NcclHaloSession(const Library& library, Team& team)
      : communicators_(std::make_shared<Communicators>(library, Mode{}, team)) {}

  std::optional<Skipped> unsupported(const HaloTask&) const override { return std::nullopt; }

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override {
    auto plan = std::make_unique<NcclHaloPlan>(communicators_, rank, task);
    plan->first_exchange(rank);
    return plan;
  }

 private:
  std::shared_ptr<Communicators> communicators_;
};

class NcclHaloEngine : public HaloEngine {
 public:
  explicit NcclHaloEngine(const Library& library) : library_(library) {}
  std::string name() const override { return kPrefix; }
  std::string device_kind() const override { return kDeviceKind; }
  std::string gathers_by() const override { return kPrefix; }
  std::unique_ptr<HaloSession> open(Team& team) override {
    return std::make_unique<NcclHaloSession>(library_, team);
  }

 private:
  const Library& library_;
};

}  // namespace

std::unique_ptr<HaloEngine> make_halo_engine(const Library& library) {
  return std::make_unique<NcclHaloEngine>(library);
}

void register_nccl_halo(const Library& library) { register_halo_engine(make_halo_engine(library)); }

}  // namespace duet::nccl
