// Simulated noise with a known median, and a Trial that draws its samples from it. For the test and
// the benchmark of the median interval.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "timing/sampler.h"

namespace duet {

// Draws one run's samples, in order; a run starts in the process's stationary state.
class NoiseSamples {
 public:
  explicit NoiseSamples(std::uint64_t run) : run_(run) {}
  double normal() { return static_cast<double>(random_normal(run_, index_++)); }
  double uniform() { return static_cast<double>(random_word(run_, index_++) >> 11) * 0x1p-53; }

 private:
  std::uint64_t run_;
  std::uint64_t index_ = 0;
};

// Returns the next sample of a run, as a multiple of the time of a call without noise.
using NoiseSource = std::function<double(NoiseSamples&)>;

struct Noise {
  std::string name;
  std::function<NoiseSource(NoiseSamples&)> start;
  double median = 1;  // of the noise process, as a multiple of the time without noise
};

namespace noise {

// Sets the median from many runs of a process that has no formula for it.
inline Noise with_median(Noise one) {
  std::vector<double> values;
  for (std::uint64_t run = 0; run < 4000; ++run) {
    NoiseSamples draws(run + 1000000007);
    const NoiseSource source = one.start(draws);
    for (int i = 0; i < 50; ++i) values.push_back(source(draws));
  }
  std::nth_element(values.begin(), values.begin() + 100000, values.end());
  one.median = values[100000];
  return one;
}

// exp of a first-order autoregression with standard deviation `sd`.
inline Noise correlated(double sd, double rho) {
  const auto start = [=](NoiseSamples& draws) -> NoiseSource {
    return [=, x = draws.normal()](NoiseSamples& more) mutable {
      const double value = std::exp(sd * x);
      x = rho * x + std::sqrt(1 - rho * rho) * more.normal();
      return value;
    };
  };
  return {rho > 0 ? fmt::format("correlated {}, deviation {}%", rho, 100 * sd)
                  : fmt::format("independent, deviation {}%", 100 * sd),
          start, 1};
}

// Slow correlated noise under independent noise of twice its size. The correlation at lag 1 is a
// fifth of the slow noise's own.
inline Noise hidden(double sd, double rho) {
  const auto start = [=](NoiseSamples& draws) -> NoiseSource {
    return [=, x = draws.normal()](NoiseSamples& more) mutable {
      x = rho * x + std::sqrt(1 - rho * rho) * more.normal();
      return std::exp(sd * (x + 2 * more.normal()));
    };
  };
  return {fmt::format("correlated {} of {}% under independent {}%", rho, 100 * sd, 200 * sd), start,
          1};
}

// Independent noise with bursts: `share` of all samples take half as long again, on average
// `length` in a row.
inline Noise bursts(double sd, double share, double length) {
  const double end = 1 / length, begin = end * share / (1 - share);
  const auto start = [=](NoiseSamples& draws) -> NoiseSource {
    return [=, in_burst = draws.uniform() < share](NoiseSamples& more) mutable {
      const double value = (in_burst ? 1.5 : 1) * std::exp(sd * more.normal());
      in_burst = more.uniform() < (in_burst ? 1 - end : begin);
      return value;
    };
  };
  return with_median(
      {fmt::format("bursts of {} calls, {}% of all", length, 100 * share), start, 1});
}

// Two speeds, `step` apart: `share` of all samples are slow, on average `length` in a row.
inline Noise steps(double sd, double step, double share, double length) {
  const double end = 1 / length, begin = end * share / (1 - share);
  const auto start = [=](NoiseSamples& draws) -> NoiseSource {
    return [=, slow = draws.uniform() < share](NoiseSamples& more) mutable {
      const double value = (slow ? 1 + step : 1) * std::exp(sd * more.normal());
      slow = more.uniform() < (slow ? 1 - end : begin);
      return value;
    };
  };
  return with_median(
      {fmt::format("two speeds {}% apart, {}% slow, {} in a row", 100 * step, 100 * share, length),
       start, 1});
}

// Speed that oscillates with a period of `period` samples.
inline Noise drift(double sd, double swing, double period) {
  const auto start = [=](NoiseSamples& draws) -> NoiseSource {
    return [=, at = draws.uniform()](NoiseSamples& more) mutable {
      at += 1 / period;
      return std::exp(swing * std::sin(2 * 3.141592653589793 * at) + sd * more.normal());
    };
  };
  return {fmt::format("drift of +-{}%, period {} calls", 100 * swing, period), start, 1};
}

// Clocks that a power cap regulates: the time of a call swings by `swing`, settles within about
// `decay` calls, and goes on swinging at random with the same period and standard deviation `sd`.
inline Noise settling(double sd, double swing, double period, double decay) {
  constexpr double kPi = 3.141592653589793;
  const double radius = std::exp(-1 / decay);
  const double first = 2 * radius * std::cos(2 * kPi / period), second = -radius * radius;
  // An autoregression of second order, and its standard deviation for innovations of 1.
  const double spread =
      std::sqrt((1 - second) / ((1 + second) * ((1 - second) * (1 - second) - first * first)));
  const auto start = [=](NoiseSamples& draws) -> NoiseSource {
    double now = 0, before = 0;
    const auto step = [=](double& x, double& y, NoiseSamples& more) {
      y = std::exchange(x, first * x + second * y + more.normal());
    };
    for (int i = 0; i < 10 * decay; ++i) step(now, before, draws);
    return [=, call = 0](NoiseSamples& more) mutable {
      step(now, before, more);
      const double settled = std::exp(-call / decay) * std::cos(2 * kPi * call / period);
      ++call;
      return std::exp(sd * now / spread - swing * settled + 0.1 * sd * more.normal());
    };
  };
  return {fmt::format("settles from {}% in {} calls, then {}%, period {}", 100 * swing, decay,
                      100 * sd, period),
          start, 1};
}

}  // namespace noise

// A trial whose calls take `seconds` times noise; its clock is their sum.
class NoisyTrial : public Trial {
 public:
  NoisyTrial(const Noise& noise, double seconds, std::uint64_t run)
      : seconds_(seconds), draws_(run), source_(noise.start(draws_)) {}

  std::vector<double> run(int iterations, bool grouped) override {
    std::vector<double> samples;
    double sum = 0;
    for (int i = 0; i < iterations; ++i) {
      samples.push_back(seconds_ * source_(draws_));
      sum += samples.back();
    }
    clock_ += sum;
    return grouped ? std::vector<double>{sum / iterations} : samples;
  }
  double now() override { return clock_; }

 private:
  double seconds_;
  double clock_ = 0;
  NoiseSamples draws_;
  NoiseSource source_;
};

// The results of several runs of the measuring loop.
struct Coverage {
  int runs = 0;
  int bounded = 0;        // runs that state an interval
  int covered = 0;        // of these, runs whose interval contains the true median
  double samples = 0;     // mean per run
  double half_width = 0;  // half the interval's width over the median; median of all runs
  double seconds = 0;     // mean per run
};

inline Coverage coverage(const Noise& noise, double seconds, const Mode& mode, int runs) {
  Coverage result;
  std::vector<double> widths;
  for (int run = 0; run < runs; ++run) {
    NoisyTrial trial(noise, seconds, static_cast<std::uint64_t>(run) + 1);
    const Sampling sampling = sample(trial, mode);
    const Summary s = summarise(sampling.samples);
    const double truth = seconds * noise.median;
    result.bounded += s.bounded ? 1 : 0;
    result.covered += s.bounded && s.ci_low <= truth && truth <= s.ci_high ? 1 : 0;
    result.samples += static_cast<double>(s.n) / runs;
    result.seconds += trial.now() / runs;
    widths.push_back((s.ci_high - s.ci_low) / 2 / s.median);
  }
  std::sort(widths.begin(), widths.end());
  result.runs = runs;
  result.half_width = widths[widths.size() / 2];
  return result;
}

}  // namespace duet
