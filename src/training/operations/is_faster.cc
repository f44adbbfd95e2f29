#include "training/operations/is_faster.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "timing/statistics.h"

namespace duet {
namespace {

constexpr double kDeadlineSeconds = 120;
constexpr int kBursts = 5;
constexpr double kBurstSeconds = 0.03, kShortestCall = 1e-6;

}  // namespace

bool is_faster(Device& device, Stream& stream, const std::function<void()>& one,
               const std::function<void()>& other) {
  const auto begin = device.make_event(), end = device.make_event();
  const auto seconds = [&](const std::function<void()>& enqueue, int calls) {
    stream.record(*begin);
    for (int i = 0; i < calls; ++i) enqueue();
    stream.record(*end);
    stream.synchronize(kDeadlineSeconds);
    return end->seconds_since(*begin) / calls;
  };
  seconds(one, 1);  // the first call of each loads kernels, and may make plans
  seconds(other, 1);
  const double longer = std::max({seconds(one, 2), seconds(other, 2), kShortestCall});
  const int calls = std::max(1, static_cast<int>(kBurstSeconds / longer));
  std::vector<double> of_one, of_other;
  for (int burst = 0; burst < kBursts; ++burst) {
    of_one.push_back(seconds(one, calls));
    of_other.push_back(seconds(other, calls));
  }
  return summarise(of_one).median < summarise(of_other).median;
}

}  // namespace duet
