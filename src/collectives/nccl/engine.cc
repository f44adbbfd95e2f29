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
  DropInEngine(const Library& library, DropInMeans means)
      : library_(library),
        mode_(means == DropInMeans::kernel ? drop_in_kernel_mode() : drop_in_mode()),
        means_(means) {}

  std::string name() const override { return kPrefix + mode_.suffix; }
  std::string device_kind() const override { return kDeviceKind; }

  std::unique_ptr<CollectiveSession> open(Team& team) override {
    team.together([&] { load(); });
    return std::make_unique<Session>(*both_, mode_, team);
  }

 private:
  void load() {
    if (both_ != nullptr) return;
    const bool is_first = means_ == DropInMeans::packets_and_copies;
    const std::string file = is_first ? "libduet-nccl.so" : "replacement/libnccl.so.2";
    const std::string path = own_file("nccl_shim", file);
    if (path.empty()) throw Unavailable(name() + ": there is no " + file + " beside libduet");
    both_ = std::make_unique<Library>(with_drop_in(library_, path, means_));
  }

  const Library& library_;
  const Mode mode_;
  const DropInMeans means_;
  std::unique_ptr<Library> both_;  // sessions refer to it
};

}  // namespace

std::unique_ptr<CollectiveEngine> make_drop_in_engine(const Library& library, DropInMeans means) {
  return std::make_unique<DropInEngine>(library, means);
}

std::unique_ptr<CollectiveEngine> make_engine(const Library& library, const Mode& mode) {
  return std::make_unique<Engine>(library, mode);
}

}  // namespace duet::nccl
