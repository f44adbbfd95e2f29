#include "halo/nvshmem/engine.h"

#include <fmt/format.h>

#include "halo/nvshmem/plan.h"

namespace duet::nvshmem {
namespace {

constexpr double kJoinSeconds = 120;

// Collective: PEs find each other by an id that rank 0 makes.
void join(const Calls& calls, Rank& rank) {
  std::string id(kIdBytes, '\0');
  rank.device.make_current();
  if (rank.index == 0) require(calls, calls.unique_id(id.data()), "unique id");
  const auto all = rank.team.gather(rank, id, "rank 0 to send NVSHMEM's unique id", kJoinSeconds);
  require(calls, calls.init(all->front().data(), rank.index, rank.size), "init");
}

class NvshmemSession : public HaloSession {
 public:
  NvshmemSession(const Calls& calls, Put put, Team& team)
      : calls_(calls), put_(put), watchdog_(team) {
    team.each([&](Rank& rank) { join(calls, rank); });
  }

  std::optional<Skipped> unsupported(const HaloTask&) const override { return std::nullopt; }

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override {
    return std::make_unique<NvshmemPlan>(calls_, put_, rank, task, watchdog_);
  }

 private:
  const Calls& calls_;
  Put put_;
  Watchdog watchdog_;
};

class NvshmemEngine : public HaloEngine {
 public:
  NvshmemEngine(const Calls& calls, Put put, const char* kind)
      : calls_(calls), put_(put), kind_(kind) {}

  std::string name() const override {
    const char* const names[] = {"nvshmem-p", "nvshmem-block", "nvshmem-signal"};
    return names[static_cast<std::size_t>(put_)];
  }
  std::string device_kind() const override { return kind_; }

  std::unique_ptr<HaloSession> open(Team& team) override {
    team.together([&] {
      if (team.local_size() == 1 || calls_.several_pes_a_process) return;
      throw Unavailable(fmt::format(
          "nvshmem: expected one process a GPU, as mpirun -n N starts them; this one has {} GPUs",
          team.local_size()));
    });
    return std::make_unique<NvshmemSession>(calls_, put_, team);
  }

 private:
  const Calls& calls_;
  Put put_;
  const char* kind_;
};

}  // namespace

std::unique_ptr<HaloEngine> make_engine(const Calls& calls, Put put, const char* device_kind) {
  return std::make_unique<NvshmemEngine>(calls, put, device_kind);
}

}  // namespace duet::nvshmem
