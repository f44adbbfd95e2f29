#include "halo/sweep.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

#include "core/error.h"

namespace duet {
namespace {

struct SweeperRegistry {
  std::mutex mutex;  // guards by_kind
  std::map<std::string, MakeSweeper> by_kind{{"host", make_cpu_sweeper}, {"sim", make_cpu_sweeper}};
};

SweeperRegistry& sweepers() {
  static SweeperRegistry instance;
  return instance;
}

}  // namespace

Span row_at(const Span& field, const FieldShape& shape, std::int64_t index) {
  return field.slice(static_cast<std::size_t>(index) * shape.row_bytes(), shape.row_bytes());
}

BoundaryRows boundary_of(const FieldShape& shape) {
  BoundaryRows rows{{1, 2}, {}};
  if (shape.rows > 1) rows.last = {shape.rows, shape.rows + 1};
  return rows;
}

FieldRows interior_of(const FieldShape& shape) {
  return shape.rows > 2 ? FieldRows{2, shape.rows} : FieldRows{};
}

void register_sweeper(const std::string& device_kind, MakeSweeper make) {
  SweeperRegistry& all = sweepers();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.by_kind[device_kind] = std::move(make);
}

std::unique_ptr<Sweeper> make_sweeper(Device& device) {
  MakeSweeper make;
  {
    SweeperRegistry& all = sweepers();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.by_kind.find(device.info().kind);
    if (found != all.by_kind.end()) make = found->second;
  }
  if (make == nullptr) {
    throw Unavailable(fmt::format("{}: its module has no sweep of a grid", device.info().name));
  }
  return make(device);
}

}  // namespace duet
