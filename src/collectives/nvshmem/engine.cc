#include "collectives/nvshmem/engine.h"

#include <fmt/format.h>

#include "collectives/nvshmem/session.h"

namespace duet::nvshmem {
namespace {

class Engine : public CollectiveEngine {
 public:
  // `suffix` states the bytes of a packet in the name.
  Engine(const Calls& calls, const PutSettings& puts, const char* kind, std::string suffix = "")
      : calls_(calls), puts_(puts), kind_(kind), suffix_(std::move(suffix)) {}

  std::string name() const override {
    const char* const names[] = {"nvshmem", "nvshmem-block", "nvshmem-grid"};
    return names[static_cast<std::size_t>(puts_.initiation)] + suffix_;
  }
  std::string device_kind() const override { return kind_; }

  std::unique_ptr<CollectiveEngine> with_packets(CollectiveKind kind,
                                                 std::uint64_t bytes) const override {
    if (puts_.initiation == Initiation::stream || !runs(kind)) return nullptr;
    return std::make_unique<Engine>(calls_, PutSettings{puts_.initiation, bytes}, kind_,
                                    fmt::format("-packets-{}", bytes));
  }

  std::unique_ptr<CollectiveSession> open(Team& team) override {
    require_one_gpu_a_process(calls_, team);
    return std::make_unique<Session>(calls_, puts_, team);
  }

 private:
  const Calls& calls_;
  PutSettings puts_;
  const char* kind_;
  std::string suffix_;
};

}  // namespace

std::unique_ptr<CollectiveEngine> make_engine(const Calls& calls, Initiation initiation,
                                              const char* device_kind) {
  return std::make_unique<Engine>(calls, PutSettings{initiation}, device_kind);
}

}  // namespace duet::nvshmem
