#include "timing/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace duet {
namespace {

constexpr std::size_t kFewestPoints = 4;
constexpr double kMostMiss = 0.10;
constexpr double kMostBeyond = 0.50;
constexpr double kLeastLatency = 0.02;  // as a share of the smallest size's time

double rate(const CopyPoint& point) { return point.bytes / point.seconds; }

double size_reaching(const std::vector<CopyPoint>& points, double wanted) {
  std::size_t first = points.size();
  while (first > 0 && rate(points[first - 1]) >= wanted) --first;
  if (first == points.size()) return 0;
  if (first == 0) return points.front().bytes;
  const CopyPoint &below = points[first - 1], &above = points[first];
  const double share = (wanted - rate(below)) / (rate(above) - rate(below));
  return std::exp(std::log(below.bytes) + share * std::log(above.bytes / below.bytes));
}

// Rounds a share to 0.01%.
double rounded(double share) { return std::round(1e4 * share) / 1e4; }

void hold_against(const std::vector<CopyPoint>& points, CopyFit& fit) {
  double best = 0;
  for (const CopyPoint& p : points) {
    best = std::max(best, rate(p));
    const double line = fit.latency_seconds + p.bytes / fit.bytes_per_second;
    const double miss = std::abs(line / p.seconds - 1);
    if (miss < fit.worst_miss) continue;
    fit.worst_miss = miss;
    fit.worst_bytes = p.bytes;
  }
  fit.worst_miss = rounded(fit.worst_miss);
  fit.beyond_best = rounded(std::max(0.0, fit.bytes_per_second / best - 1));
  fit.smallest_seconds = points.front().seconds;
}

}  // namespace

std::optional<CopyFit> fit_copy(std::vector<CopyPoint> points) {
  points.erase(std::remove_if(points.begin(), points.end(),
                              [](const CopyPoint& p) { return p.bytes <= 0 || p.seconds <= 0; }),
               points.end());
  if (points.size() < kFewestPoints) return std::nullopt;
  std::sort(points.begin(), points.end(),
            [](const CopyPoint& a, const CopyPoint& b) { return a.bytes < b.bytes; });
  // Minimises sum(((latency + bytes x slope - seconds) / seconds)^2) by its two normal equations.
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const CopyPoint& p : points) {
    const double u = 1 / p.seconds, v = p.bytes / p.seconds;
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u1 += u;
    v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  if (determinant <= 0) return std::nullopt;
  double latency = (u1 * vv - v1 * uv) / determinant;
  double slope = (uu * v1 - uv * u1) / determinant;
  if (latency < 0) {
    latency = 0;
    slope = v1 / vv;
  }
  if (slope <= 0) return std::nullopt;
  CopyFit fit;
  fit.latency_seconds = latency;
  fit.bytes_per_second = 1 / slope;
  fit.half_bytes = latency / slope;
  fit.bytes_50 = size_reaching(points, 0.5 / slope);
  fit.bytes_80 = size_reaching(points, 0.8 / slope);
  fit.bytes_90 = size_reaching(points, 0.9 / slope);
  hold_against(points, fit);
  return fit;
}

std::string refusal(const CopyFit& fit, double size) {
  if (fit.worst_miss > kMostMiss) {
    return fmt::format(
        "the line misses {} by {:.0f}%, where {:.0f}% is the most",
        format_bytes(static_cast<std::uint64_t>(std::llround(size * fit.worst_bytes))),
        100 * fit.worst_miss, 100 * kMostMiss);
  }
  if (fit.beyond_best > kMostBeyond) {
    return fmt::format(
        "its limit is {:.1f} times the best that was measured, where {:.1f} is the most: larger "
        "sizes are needed",
        1 + fit.beyond_best, 1 + kMostBeyond);
  }
  const double least = std::max(fit.worst_miss, kLeastLatency) * fit.smallest_seconds;
  if (fit.latency_seconds < least) return "no latency shows: smaller sizes are needed";
  return "";
}

}  // namespace duet
