// How long and how a Work is measured. docs/measuring.md describes each mode.
#pragma once

#include <string_view>

namespace duet {

enum class ModeKind {
  adaptive,   // one sample an iteration until the interval of the median is narrow enough
  do_bench,   // warm-up and repetition in milliseconds, cache flushed, one sample an iteration
  loop,       // `iterations` calls between two events make one sample
  at_least,   // calls for at least `seconds`, one mean
  sustained,  // calls for `seconds`, one sample a window, with clocks and power
};

std::string_view name(ModeKind kind);

struct Mode {
  ModeKind kind = ModeKind::adaptive;
  double warm_up_seconds = 0.03;
  int warm_up_iterations = 0;  // above 0: so many, instead of the seconds
  double seconds = 0.5;        // of measuring, at most (at_least, sustained: at least)
  int min_iterations = 9;
  // adaptive: taken also past `seconds`, up to four times of it. Of fewer samples the interval is
  // wide, since they do not show how alike neighbours are.
  int fair_iterations = 24;
  int max_iterations = 2000;
  int iterations = 20;              // loop: calls a sample
  double relative_interval = 0.02;  // adaptive: stop when (ci_high - ci_low) / median is under this
  bool flush = false;               // write over the last-level cache before each iteration
  double deadline_seconds = 120;    // for any one wait
};

Mode peak_mode();       // adaptive, with samples enough that one of them is undisturbed
Mode do_bench_mode();   // warm-up 30 ms, repetition 200 ms, cache flushed
Mode loop_mode();       // 20 calls a sample, 5 samples
Mode at_least_mode();   // at least one second
Mode sustained_mode();  // 10 s

// "adaptive", "do_bench", "loop", "at_least", "sustained". Throws UsageError.
Mode parse_mode(std::string_view text);

}  // namespace duet
