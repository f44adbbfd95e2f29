#include "halo/nvshmem/engine.h"

#include "halo/nvshmem/plan.h"

namespace duet::nvshmem {
namespace {

class NvshmemHaloSession : public HaloSession {
 public:
  NvshmemHaloSession(const HaloCalls& calls, Put put, Team& team)
      : calls_(calls), put_(put), watchdog_(team) {
    team.each([&](Rank& rank) { join(calls, rank); });
  }

  std::optional<Skipped> unsupported(const HaloTask&) const override { return std::nullopt; }

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override {
    return std::make_unique<NvshmemPlan>(calls_, put_, rank, task, watchdog_);
  }

 private:
  const HaloCalls& calls_;
  Put put_;
  Watchdog watchdog_;
};

class NvshmemHaloEngine : public HaloEngine {
 public:
  NvshmemHaloEngine(const HaloCalls& calls, Put put, const char* kind)
      : calls_(calls), put_(put), kind_(kind) {}

  std::string name() const override {
    const char* const names[] = {"nvshmem-p", "nvshmem-block", "nvshmem-signal"};
    return names[static_cast<std::size_t>(put_)];
  }
  std::string device_kind() const override { return kind_; }

  std::unique_ptr<HaloSession> open(Team& team) override {
    require_one_gpu_a_process(calls_, team);
    return std::make_unique<NvshmemHaloSession>(calls_, put_, team);
  }

 private:
  const HaloCalls& calls_;
  Put put_;
  const char* kind_;
};

}  // namespace

std::unique_ptr<HaloEngine> make_halo_engine(const HaloCalls& calls, Put put,
                                             const char* device_kind) {
  return std::make_unique<NvshmemHaloEngine>(calls, put, device_kind);
}

}  // namespace duet::nvshmem
