#include "collectives/nccl/engine.h"

#include <fmt/format.h>

#include "collectives/nccl/session.h"
#include "collectives/nccl/vendor.h"
#include "core/error.h"
#include "core/module.h"

namespace duet::nccl {
namespace {

class Engine : public CollectiveEngine {
 public:
  Engine(const Library& library, Mode mode) : library_(library), mode_(std::move(mode)) {}

  std::string name() const override { return kPrefix + mode_.suffix; }
  std::string device_kind() const override { return kDeviceKind; }

  std::unique_ptr<CollectiveEngine> limited(int units) const override {
    return make_engine(library_, capped(mode_, units));
  }

  bool opens_for_groups() const override { return true; }

  std::unique_ptr<CollectiveSession> open(Team& team) override {
    team.together([&] {
      const std::string lack = missing(library_, mode_);
      if (!lack.empty()) throw Unavailable(fmt::format("{} {}", name(), lack));
    });
    return std::make_unique<Session>(library_, mode_, team);
  }

 private:
  const Library& library_;
  Mode mode_;
};

class DropInEngine : public CollectiveEngine {
 public:
  explicit DropInEngine(const Library& library) : library_(library) {}

  std::string name() const override { return std::string(kPrefix) + "-duet"; }
  std::string device_kind() const override { return kDeviceKind; }

  std::unique_ptr<CollectiveSession> open(Team& team) override {
    team.together([&] { load(); });
    return std::make_unique<Session>(*both_, Mode{"-duet", "behind libduet-nccl.so"}, team);
  }

 private:
  void load() {
    if (both_ != nullptr) return;
    const std::string path = own_file("nccl_shim", "libduet-nccl.so");
    if (path.empty()) throw Unavailable(name() + ": there is no libduet-nccl.so beside libduet");
    both_ = std::make_unique<Library>(with_drop_in(library_, path));
  }

  const Library& library_;
  std::unique_ptr<Library> both_;  // sessions refer to it
};

}  // namespace

std::unique_ptr<CollectiveEngine> make_drop_in_engine(const Library& library) {
  return std::make_unique<DropInEngine>(library);
}

std::unique_ptr<CollectiveEngine> make_engine(const Library& library, const Mode& mode) {
  return std::make_unique<Engine>(library, mode);
}

}  // namespace duet::nccl
