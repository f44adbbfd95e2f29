// What a curve of copy times over sizes says: latency, asymptotic bandwidth, and where it reaches
// which share of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace duet {

struct CopyPoint {
  double bytes = 0;  // that count for the rate
  double seconds = 0;
};

struct CopyFit {
  double latency_seconds = 0;
  double bytes_per_second = 0;  // asymptotic
  double half_bytes = 0;        // n1/2 = latency x bandwidth: the size that reaches half of it
  // The smallest size from which on the measured curve stays at or above that share of the
  // asymptotic bandwidth, by linear interpolation over log(size); 0: never reached.
  double bytes_50 = 0, bytes_80 = 0, bytes_90 = 0;
  // How far the line is from its points: the largest |line / measured - 1| of their times, and at
  // which size; and how far the asymptotic bandwidth is over the best measured rate (0.2: by 20%);
  // both to 0.0001.
  double worst_miss = 0, worst_bytes = 0, beyond_best = 0;
  double smallest_seconds = 0;  // of the smallest size
};

// Least squares of seconds = latency + bytes / bandwidth with relative errors, so that a 4 KiB copy
// weighs as much as one of 2 GB. Nothing for fewer than four points or a curve that does not grow.
std::optional<CopyFit> fit_copy(std::vector<CopyPoint> points);

// Why a line is not to be shown, in words; "" if it is: it must be within 10% of each of its
// points, its bandwidth at most 50% over the best measured rate, and its latency large enough to be
// seen. `size`: bytes to be named for each of the fit's.
std::string refusal(const CopyFit& fit, double size = 1);

}  // namespace duet
