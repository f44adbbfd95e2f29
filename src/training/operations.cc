#include "training/operations.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "training/host/operations.h"

namespace duet {
namespace {

struct OperationsRegistry {
  std::mutex mutex;  // guards by_kind
  std::map<std::string, MakeOperations> by_kind{{"host", make_cpu_operations},
                                                {"sim", make_cpu_operations}};
};

OperationsRegistry& registry() {
  static OperationsRegistry instance;
  return instance;
}

MakeOperations find_operations(const DeviceInfo& info) {
  OperationsRegistry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.by_kind.find(info.kind);
  if (found != all.by_kind.end()) return found->second;
  throw Unavailable(fmt::format("{}: its module has no operations for training", info.name));
}

}  // namespace

void register_operations(const std::string& device_kind, MakeOperations make) {
  OperationsRegistry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.by_kind[device_kind] = std::move(make);
}

std::unique_ptr<Operations> make_operations(Device& device) {
  return find_operations(device.info())(device);
}

}  // namespace duet
