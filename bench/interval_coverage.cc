// Measures how often a case states a 95% interval ("states"; the others say that their samples do
// not bound the median), and how often a stated one contains the true median ("holds"): runs the
// measuring loop, with its stopping rule, on simulated noise with a known median. Columns are
// lengths of a call, lines are kinds of noise.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "core/units.h"
#include "timing/noise_fixture.h"

namespace {

std::vector<duet::Noise> noises() {
  using namespace duet;
  return {noise::correlated(0.005, 0),         noise::correlated(0.02, 0),
          noise::correlated(0.3, 0),           noise::correlated(0.02, 0.5),
          noise::correlated(0.02, 0.8),        noise::correlated(0.005, 0.9),
          noise::correlated(0.02, 0.9),        noise::correlated(0.05, 0.9),
          noise::correlated(0.005, 0.97),      noise::correlated(0.02, 0.97),
          noise::correlated(0.05, 0.97),       noise::hidden(0.02, 0.9),
          noise::bursts(0.02, 0.1, 10),        noise::steps(0.01, 0.03, 0.3, 10),
          noise::drift(0.01, 0.03, 100),       noise::settling(0.01, 0.05, 100, 30),
          noise::settling(0.02, 0.04, 60, 60), noise::hidden(0.02, 0.97),
          noise::bursts(0.02, 0.2, 30),        noise::steps(0.01, 0.03, 0.3, 30),
          noise::drift(0.01, 0.03, 400)};
}

std::string cell(const duet::Noise& noise, double seconds, const duet::Mode& mode, int runs) {
  const duet::Coverage c = duet::coverage(noise, seconds, mode, runs);
  return fmt::format("{:>6.0f}%{:>6.0f}%{:>6.2f}%{:>6.0f}{:>6.2f}s |", 100.0 * c.bounded / c.runs,
                     c.bounded > 0 ? 100.0 * c.covered / c.bounded : 100, 100 * c.half_width,
                     c.samples, c.seconds);
}

void print_mode(const char* name, const duet::Mode& mode, const std::vector<double>& calls,
                int runs) {
  fmt::print("\n{:<50}|", name);
  for (const double seconds : calls) fmt::print("{:>33} |", duet::format_seconds(seconds));
  fmt::print("\n{:<50}|", "");
  for (std::size_t i = 0; i < calls.size(); ++i) {
    fmt::print("{:>7}{:>7}{:>7}{:>6}{:>7}|", "states", "holds", "+-", "n", "time ");
  }
  fmt::print("\n");
  for (const duet::Noise& noise : noises()) {
    fmt::print("{:<50}|", noise.name);
    for (const double seconds : calls) fmt::print("{}", cell(noise, seconds, mode, runs));
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 1000;
  if (runs < 1) {
    fmt::print(stderr, "usage: {} [RUNS]\n", argv[0]);
    return 2;
  }
  try {
    print_mode("adaptive", duet::Mode{}, {1e-4, 1e-3, 1e-2, 1e-1}, runs);
    print_mode("do_bench", duet::do_bench_mode(), {1e-4, 1e-3, 1e-2}, runs);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
