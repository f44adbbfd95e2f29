#include "timing/mode.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<ModeKind> kModeKinds[] = {{ModeKind::adaptive, "adaptive"},
                                               {ModeKind::do_bench, "do_bench"},
                                               {ModeKind::loop, "loop"},
                                               {ModeKind::at_least, "at_least"},
                                               {ModeKind::sustained, "sustained"}};

}  // namespace

std::string_view name(ModeKind kind) { return name_of(kModeKinds, kind); }

std::vector<std::string> mode_names() {
  const std::vector<std::string_view> names = names_in(kModeKinds);
  return {names.begin(), names.end()};
}

Mode peak_mode() {
  Mode mode;
  mode.min_iterations = 100;
  return mode;
}

// The parameters of triton.testing.do_bench as the MI350X study used it: warmup=30, rep=200.
Mode do_bench_mode() {
  Mode mode;
  mode.kind = ModeKind::do_bench;
  mode.warm_up_seconds = 0.030;
  mode.seconds = 0.200;
  mode.flush = true;
  return mode;
}

Mode loop_mode() {
  Mode mode;
  mode.kind = ModeKind::loop;
  mode.iterations = 20;
  mode.min_iterations = mode.max_iterations = 5;
  return mode;
}

Mode at_least_mode() {
  Mode mode;
  mode.kind = ModeKind::at_least;
  mode.seconds = 1;
  return mode;
}

Mode sustained_mode() {
  Mode mode;
  mode.kind = ModeKind::sustained;
  mode.seconds = 10;
  return mode;
}

Mode parse_mode(std::string_view text) {
  if (text == "adaptive") return Mode{};
  if (text == "do_bench") return do_bench_mode();
  if (text == "loop") return loop_mode();
  if (text == "at_least") return at_least_mode();
  if (text == "sustained") return sustained_mode();
  throw UsageError(fmt::format(
      "unknown mode '{}'{}: expected adaptive, do_bench, loop, at_least or sustained", text,
      did_you_mean(text, {"adaptive", "do_bench", "loop", "at_least", "sustained"})));
}

}  // namespace duet
