// MPI as an engine for any device, with one rank per process.
#include "halo/engine.h"

#include "collectives/mpi/module.h"
#include "halo/mpi/plan.h"

namespace duet::mpi {
namespace {

class HaloSessionOfMpi : public HaloSession {
 public:
  explicit HaloSessionOfMpi(Team& team) : communicator_(open_communicator(team)) {}

  std::optional<Skipped> unsupported(const HaloTask&) const override { return std::nullopt; }
  std::optional<Skipped> uncapturable() const override {
    return Skipped{"the CPU makes MPI's calls, which a graph cannot capture"};
  }

  // After a failure messages of some ranks may still be under way.
  bool usable() const override { return communicator_->usable(); }

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override {
    return std::make_unique<MpiHaloPlan>(communicator_, rank, task);
  }

 private:
  std::shared_ptr<Communicator> communicator_;
};

class HaloEngineOfMpi : public HaloEngine {
 public:
  std::string name() const override { return "mpi"; }
  std::string device_kind() const override { return ""; }
  std::string gathers_by() const override { return "mpi"; }
  std::unique_ptr<HaloSession> open(Team& team) override {
    return std::make_unique<HaloSessionOfMpi>(team);
  }
};

}  // namespace

void register_mpi_halo() { register_halo_engine(std::make_unique<HaloEngineOfMpi>()); }

}  // namespace duet::mpi
