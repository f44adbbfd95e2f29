// The latency-bandwidth line fitted to copy times over sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace duet {

// One measured size.
struct CopyPoint {
  double bytes = 0;  // as counted for the rate
  double seconds = 0;
};

// The line seconds = latency + bytes / bandwidth, and how well it fits.
struct CopyFit {
  double latency_seconds = 0;
  double bytes_per_second = 0;  // asymptotic
  double half_bytes = 0;  // n1/2 = latency x bandwidth: the size that reaches half the bandwidth
  // The smallest size from which on the measured curve stays at or above 50%, 80%, 90% of the
  // asymptotic bandwidth, by linear interpolation over log(size); 0: never reached.
  double bytes_50 = 0, bytes_80 = 0, bytes_90 = 0;
  // worst_miss: the largest |line / measured - 1| of the points' times, at the size worst_bytes.
  // beyond_best: asymptotic bandwidth over the best measured rate, minus 1 (0.2: 20% more); at
  // least 0. Both are rounded to 0.0001.
  double worst_miss = 0, worst_bytes = 0, beyond_best = 0;
  double smallest_seconds = 0;  // measured time of the smallest size
};

// Least squares of seconds = latency + bytes / bandwidth with relative errors, so that a 4 KiB copy
// weighs as much as one of 2 GB. Returns nothing for fewer than four points with positive bytes and
// seconds, or if time does not grow with size.
std::optional<CopyFit> fit_copy(std::vector<CopyPoint> points);

// Why a line must not be shown, in words; "" if it may. Conditions: the line is within 10% of each
// of its points; its bandwidth is at most 50% over the best measured rate; its latency is at least
// 2% of the smallest size's time, and at least worst_miss of it. `size` scales the size named in
// the text: bytes per byte of the fit.
std::string refusal(const CopyFit& fit, double size = 1);

}  // namespace duet
