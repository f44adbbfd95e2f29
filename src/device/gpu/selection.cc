#include "device/gpu/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/error.h"

namespace duet::gpu {
namespace {

constexpr int kMostRanks =
    16;  // of one device: kernels that wait for each other must all fit on it

}  // namespace

std::vector<int> parse_selection(const std::string& kind, const std::string& argument) {
  std::vector<int> named;
  if (argument.empty()) return named;
  const char* at = argument.data();
  const char* const end = at + argument.size();
  while (true) {
    int number = -1;
    int ranks = 1;
    std::from_chars_result read = std::from_chars(at, end, number);
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == ':') {
      read = std::from_chars(read.ptr + 1, end, ranks);
    }
    const bool separated = read.ptr == end || *read.ptr == ',';
    if (read.ec != std::errc() || number < 0 || ranks < 1 || ranks > kMostRanks || !separated) {
      throw UsageError(
          fmt::format("{0}:{1}: expected device numbers such as {0}:0 or {0}:0,1, or {0}:0:2 for "
                      "two ranks that "
                      "share device 0 (at most {2})",
                      kind, argument, kMostRanks));
    }
    if (std::find(named.begin(), named.end(), number) != named.end()) {
      throw UsageError(
          fmt::format("{0}:{1}: device {2} is named twice; two ranks that share it are {0}:{2}:2",
                      kind, argument, number));
    }
    named.insert(named.end(), static_cast<std::size_t>(ranks), number);
    if (read.ptr == end) return named;
    at = read.ptr + 1;
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
