#include "training/operations/operations.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>
#include <variant>

#include "core/error.h"
#include "core/profiler_range.h"
#include "training/host/operations.h"

namespace duet {
namespace {

constexpr double kTimedStepSeconds = 600;

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

// The part of a step that an operation belongs to. Throws BadArgument where its tensors do not fit.
template <typename Operation>
StepPart checked_part(const Operation& operation) {
  if (operation.fits()) return Operation::kPart;
  throw BadArgument(fmt::format("{}: expected tensors of fitting shapes", name_of(operation)));
}

}  // namespace

void Operations::run(Stream& stream, const AnyOperation& operation) {
  if (timeline_ != nullptr && (run_separately<LinearGelu>(stream, operation) ||
                               run_separately<LinearBackwardGelu>(stream, operation))) {
    return;
  }
  const StepPart part = std::visit([](const auto& each) { return checked_part(each); }, operation);
  const ProfilerRange range([&operation] {
    return std::visit([](const auto& each) { return std::string(name_of(each)); }, operation);
  });
  dispatch(stream, operation);
  if (timeline_ != nullptr) timeline_->ended(stream, name(part));
}

template <typename Fused>
bool Operations::run_separately(Stream& stream, const AnyOperation& operation) {
  const auto* const fused = std::get_if<Fused>(&operation);
  if (fused == nullptr || fuses(*fused)) return false;
  run(stream, fused->linear());
  run(stream, fused->gelu());
  return true;
}

std::array<double, kStepParts> Operations::time(Stream& stream,
                                                const std::function<void()>& enqueue) {
  StepTimeline timeline(device_);
  timeline.begin(stream);
  set_timeline(&timeline);
  enqueue();
  set_timeline(nullptr);
  stream.synchronize(kTimedStepSeconds);
  std::array<double, kStepParts> seconds{};
  for (const StepTimeline::Part& each : timeline.parts()) {
    seconds[static_cast<std::size_t>(parse_step_part(each.what))] += each.end - each.begin;
  }
  return seconds;
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
