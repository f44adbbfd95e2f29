// MPI as an engine for any device, with one rank per process.
#include "collectives/engine.h"

#include <fmt/format.h>

#include "collectives/mpi/communicator.h"
#include "collectives/mpi/plan.h"

namespace duet::mpi {
namespace {

class Session : public CollectiveSession {
 public:
  explicit Session(Team& team) : communicator_(open_communicator(team)) {}

  std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const override {
    const std::string reason = missing(collective, in_place);
    return reason.empty() ? std::nullopt : std::optional<Skipped>(Skipped{reason});
  }

  std::optional<Skipped> uncapturable() const override {
    return Skipped{"the CPU makes MPI's calls, which a graph cannot capture"};
  }

  // After a failure messages of some ranks may still be under way.
  bool usable() const override { return communicator_->usable(); }

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    const DeviceInfo& info = rank.device.info();
    const bool direct = reaches(info);
    const char* way = !direct                ? "staged through pinned memory"
                      : info.cpu_addressable ? "host memory"
                                             : "device buffers";
    return std::make_unique<MpiPlan>(communicator_, rank, collective, buffers, direct,
                                     fmt::format("{}, {}", library_name(), way));
  }

 private:
  std::shared_ptr<Communicator> communicator_;
};

class Engine : public CollectiveEngine {
 public:
  std::string name() const override { return "mpi"; }
  std::string device_kind() const override { return ""; }

  std::unique_ptr<CollectiveSession> open(Team& team) override {
    return std::make_unique<Session>(team);
  }
};

}  // namespace
}  // namespace duet::mpi

extern "C" void duet_register();

void duet_register() { duet::register_collective_engine(std::make_unique<duet::mpi::Engine>()); }
