#include "collectives/nvshmem/engine.h"

#include "collectives/nvshmem/session.h"

namespace duet::nvshmem {
namespace {

class Engine : public CollectiveEngine {
 public:
  Engine(const Calls& calls, const char* kind) : calls_(calls), kind_(kind) {}

  std::string name() const override { return "nvshmem"; }
  std::string device_kind() const override { return kind_; }

  std::unique_ptr<CollectiveSession> open(Team& team) override {
    require_one_gpu_a_process(calls_, team);
    return std::make_unique<Session>(calls_, team);
  }

 private:
  const Calls& calls_;
  const char* kind_;
};

}  // namespace

std::unique_ptr<CollectiveEngine> make_engine(const Calls& calls, const char* device_kind) {
  return std::make_unique<Engine>(calls, device_kind);
}

}  // namespace duet::nvshmem
