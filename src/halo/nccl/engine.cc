// NCCL as engines: a group of two sends and two receives on the caller's stream or, with overlap,
// on a stream of high priority beside the interior. Fields are plain memory or windows.
#include "halo/nccl/engine.h"

#include <fmt/format.h>

#include "collectives/nccl/communicators.h"
#include "collectives/nccl/module.h"
#include "collectives/nccl/vendor.h"
#include "collectives/nccl/windows.h"
#include "halo/nccl/exchange.h"
#include "halo/parts.h"

namespace duet::nccl {
namespace {

constexpr double kFirstExchangeSeconds = 120;

// Memory for both fields of a rank.
class FieldMemory {
 public:
  virtual ~FieldMemory() = default;
  virtual Span span() const = 0;
};

class PlainFields : public FieldMemory {
 public:
  PlainFields(Rank& rank, std::size_t bytes) : buffer_(rank.device.allocate(bytes)) {}
  Span span() const override { return buffer_.span(); }

 private:
  Buffer buffer_;
};

// A symmetric window: all ranks give the same number of bytes. Collective, inside Team::each().
class WindowFields : public FieldMemory {
 public:
  WindowFields(const std::shared_ptr<Communicators>& communicators, Rank& rank, std::size_t bytes) {
    rank.team.all_or_none(rank, "all ranks to have memory for fields", [&] {
      memory_ = std::make_unique<WindowMemory>(communicators->library(), rank.device, bytes,
                                               std::make_shared<Allocations>());
    });
    const WindowRequests whole{{{bytes, 0}, {}}};
    const std::vector<WindowRequests> all(static_cast<std::size_t>(rank.size), whole);
    windows_ = std::make_unique<Windows>(communicators, rank, CollectiveBuffers{span(), {}}, all);
  }
  Span span() const override { return memory_->span(); }

 private:
  std::unique_ptr<WindowMemory> memory_;
  std::unique_ptr<Windows> windows_;
};

// Of the rank with most rows.
std::size_t bytes_of_fields(const HaloGrid& grid) {
  return 2 * FieldShape{grid.nx, rows_of(grid, 0).count}.bytes();
}

std::unique_ptr<FieldMemory> make_fields(const std::shared_ptr<Communicators>& communicators,
                                         const Mode& mode, Rank& rank, const HaloGrid& grid) {
  if (!mode.windows) return std::make_unique<PlainFields>(rank, bytes_of_fields(grid));
  return std::make_unique<WindowFields>(communicators, rank, bytes_of_fields(grid));
}

class NcclHaloPlan : public HaloPlan {
 public:
  NcclHaloPlan(std::shared_ptr<Communicators> communicators, const Mode& mode, Rank& rank,
               const HaloTask& task)
      : communicators_(std::move(communicators)),
        local_(rank.local),
        comm_(communicators_->comm_rank(rank).comm),
        ring_(ring_of(rank, task.grid)),
        overlap_(task.overlap),
        words_(mode.windows ? "grouped sends and receives of windows"
                            : "grouped sends and receives"),
        parts_(rank, task),
        fields_(make_fields(communicators_, mode, rank, task.grid)) {
    if (!overlap_) return;
    lane_ = rank.device.make_stream({rank.device.info().priorities - 1});
    swept_ = rank.device.make_event(EventUse::order);
    exchanged_ = rank.device.make_event(EventUse::order);
  }

  const FieldShape& shape() const override { return parts_.shape(); }
  Span field(int parity) const override {
    const Span both = fields_->span();
    return both.slice(static_cast<std::size_t>(parity) * shape().bytes(), shape().bytes());
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
    } catch (const std::exception& error) {
      communicators_->give_up(error.what());
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
    return fmt::format("{} {}, {}{}", library.product, version_text(library.version), words_,
                       library.nvls_off ? ", NVLS off" : "");
  }

 private:
  std::size_t points() const { return static_cast<std::size_t>(shape().nx); }

  HaloRowAddresses rows_of_field(int parity) const {
    const auto row = [&](std::int64_t at) { return row_at(field(parity), shape(), at).data; };
    return {row(1), row(shape().rows), row(0), row(shape().rows + 1)};
  }

  void exchange(Stream& stream, int parity) {
    stream.device().make_current();
    communicators_->enqueue(local_, [&] {
      exchange_rows(communicators_->library(), comm_, ring_, rows_of_field(parity), points(),
                    stream.native());
    });
  }

  std::shared_ptr<Communicators> communicators_;
  int local_;
  Comm comm_;
  Ring ring_;
  bool overlap_;
  const char* words_;
  SweepParts parts_;
  std::unique_ptr<FieldMemory> fields_;
  std::unique_ptr<Stream> lane_;  // with overlap
  std::unique_ptr<Event> swept_, exchanged_;
};

class NcclHaloSession : public HaloSession {
 public:
  NcclHaloSession(const Library& library, Mode mode, Team& team)
      : mode_(std::move(mode)),
        communicators_(std::make_shared<Communicators>(library, mode_, team)) {}

  std::optional<Skipped> unsupported(const HaloTask&) const override { return std::nullopt; }
  bool usable() const override { return communicators_->usable(); }

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override {
    auto plan = std::make_unique<NcclHaloPlan>(communicators_, mode_, rank, task);
    plan->first_exchange(rank);
    return plan;
  }

 private:
  Mode mode_;
  std::shared_ptr<Communicators> communicators_;
};

class NcclHaloEngine : public HaloEngine {
 public:
  NcclHaloEngine(const Library& library, Mode mode) : library_(library), mode_(std::move(mode)) {}
  std::string name() const override { return kPrefix + mode_.suffix; }
  std::string device_kind() const override { return kDeviceKind; }
  std::string gathers_by() const override { return kPrefix; }
  std::unique_ptr<HaloSession> open(Team& team) override {
    team.together([&] {
      const std::string lack = missing(library_, mode_);
      if (!lack.empty()) throw Unavailable(fmt::format("{} {}", name(), lack));
    });
    return std::make_unique<NcclHaloSession>(library_, mode_, team);
  }

 private:
  const Library& library_;
  Mode mode_;
};

}  // namespace

std::unique_ptr<HaloEngine> make_halo_engine(const Library& library, const Mode& mode) {
  return std::make_unique<NcclHaloEngine>(library, mode);
}

void register_nccl_halo(const Library& library) {
  for (const Mode& mode : modes()) {
    if (!mode.zero_cta && mode.max_ctas == 0) register_halo_engine(make_halo_engine(library, mode));
  }
}

}  // namespace duet::nccl
