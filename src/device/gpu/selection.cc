#include "device/gpu/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/error.h"

namespace duet::gpu {

std::vector<int> parse_selection(const std::string& kind, const std::string& argument) {
  std::vector<int> named;
  if (argument.empty()) return named;
  const char* at = argument.data();
  const char* const end = at + argument.size();
  while (true) {
    int number = -1;
    const auto [rest, error] = std::from_chars(at, end, number);
    const bool separated = rest == end || *rest == ',';
    if (error != std::errc() || number < 0 || !separated) {
      throw UsageError(
          fmt::format("{0}:{1}: expected device numbers such as {0}:0 or {0}:0,1", kind, argument));
    }
    if (std::find(named.begin(), named.end(), number) != named.end()) {
      throw UsageError(fmt::format("{}:{}: device {} is named twice", kind, argument, number));
    }
    named.push_back(number);
    if (rest == end) return named;
    at = rest + 1;
  }
}

std::vector<int> select_devices(const std::string& kind, const std::vector<int>& named, int count) {
  std::vector<int> selected = named;
  if (named.empty()) {
    selected.resize(static_cast<std::size_t>(count));
    std::iota(selected.begin(), selected.end(), 0);
  }
  for (const int number : selected) {
    if (number < count) continue;
    throw UsageError(count == 1 ? fmt::format("{}:{}: there is 1 device, number 0", kind, number)
                                : fmt::format("{}:{}: there are {} devices, 0 to {}", kind, number,
                                              count, count - 1));
  }
  return selected;
}

}  // namespace duet::gpu
