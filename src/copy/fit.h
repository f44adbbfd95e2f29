// What a curve of copy times over sizes says: latency, asymptotic bandwidth, and where it reaches
// which share of it.
#pragma once

#include <optional>
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
};

// Least squares of seconds = latency + bytes / bandwidth with relative errors, so that a 4 KiB copy
// weighs as much as one of 2 GB. Nothing for fewer than four points or a curve that does not grow.
std::optional<CopyFit> fit_copy(std::vector<CopyPoint> points);

}  // namespace duet
