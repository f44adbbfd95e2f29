#include "training/operations/operations.h"

#include <fmt/format.h>

#include <algorithm>
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

bool blocks_fit(const std::vector<RowRange>& blocks, const Tensor& matrix) {
  const auto count = static_cast<std::int64_t>(blocks.size());
  const auto inside = [&](const RowRange& each) {
    return each.first >= 0 && each.first <= each.last && each.last <= matrix.rows;
  };
  return count > 0 && blocks.size() <= kMostBlocks && matrix.columns % count == 0 &&
         std::all_of(blocks.begin(), blocks.end(), inside);
}

bool RotaryTensors::fit(const Tensor& result) const {
  const std::int64_t rows = shape.batch * shape.tokens, heads = shape.key_heads();
  if (heads <= 0 || shape.heads % heads != 0 || shape.head_dim % 2 != 0 || theta <= 0) return false;
  if (qkv.rows != rows || qkv.columns != shape.qkv_width()) return false;
  if (result.rows != rows || result.columns != qkv.columns) return false;
  if (q_weight.count() != k_weight.count()) return false;
  return !normalises() || (q_weight.count() == shape.head_dim &&
                           inverse_rms.count() == rows * (shape.heads + heads));
}

bool Quantised::fits(const Tensor& x, const Tensor& magnitude) const {
  const auto is = [this](const Tensor& tensor, std::int64_t rows, std::int64_t columns) {
    return tensor.count() == 0 ||
           (tensor.rows == rows && tensor.columns == columns && tensor.dtype == dtype());
  };
  return is_fp8(dtype()) && values.count() + transposed.count() > 0 &&
         is(values, x.rows, x.columns) && is(transposed, x.columns, x.rows) && scale.count() == 1 &&
         magnitude.count() == 1;
}

void register_operations(const std::string& device_kind, MakeOperations make) {
  OperationsRegistry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.by_kind[device_kind] = std::move(make);
}

std::unique_ptr<Operations> make_operations(Device& device, const OperationsOptions& options) {
  return find_operations(device.info())(device, options);
}

}  // namespace duet
