// How a Work is measured, and for how long. docs/measuring.md describes each mode.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace duet {

enum class ModeKind {
  adaptive,   // one sample per iteration, until the interval of the median is narrow enough
  do_bench,   // one sample per iteration for `seconds`, cache flushed; as triton.testing.do_bench
  loop,       // the mean of `iterations` calls is one sample
  at_least,   // the mean of calls for at least `seconds` is the only sample
  sustained,  // calls for `seconds`; one sample per window of 0.1 s, with clocks and power
};

std::string_view name(ModeKind kind);
std::vector<std::string> mode_names();

struct Mode {
  ModeKind kind = ModeKind::adaptive;
  double warm_up_seconds = 0.03;
  int warm_up_iterations = 0;  // if above 0, replaces warm_up_seconds
  double seconds = 0.5;        // of measuring: at most; modes at_least and sustained: at least
  int min_iterations = 9;
  // adaptive: this many samples are taken even if that takes longer than `seconds`, up to four
  // times `seconds`. Fewer samples do not show the correlation of neighbours. Samples that drift
  // are waited for as long.
  int fair_iterations = 24;
  int max_iterations = 2000;
  int iterations = 20;              // loop: calls a sample
  double relative_interval = 0.02;  // adaptive: stop when (ci_high - ci_low) / median is under this
  bool flush = false;               // write over the last-level cache before each iteration
  double deadline_seconds = 120;    // for any one wait
};

Mode peak_mode();       // adaptive, at least 100 samples, so that one of them is undisturbed
Mode do_bench_mode();   // warm-up 30 ms, repetition 200 ms, cache flushed
Mode loop_mode();       // 5 samples of 20 calls each
Mode at_least_mode();   // at least one second
Mode sustained_mode();  // 10 s

// "adaptive", "do_bench", "loop", "at_least" or "sustained", each with its defaults. Throws
// UsageError.
Mode parse_mode(std::string_view text);

}  // namespace duet
