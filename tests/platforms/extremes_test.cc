// Each figure of a platform file at extreme values: the file is refused, naming the figure and what
// it may be, or a quick run of everything that the machine does ends well.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <regex>
#include <sstream>

#include "collectives/cases.h"
#include "copy/cases.h"
#include "core/error.h"
#include "core/message_fixture.h"
#include "device/machine.h"
#include "device/sim/platform.h"
#include "gemm/cases.h"

namespace duet {
namespace {

constexpr const char* kPlatform = "mi300x-8";

struct Line {
  std::size_t number = 0;
  std::string key;  // the last word of it
};

std::vector<std::string> lines() {
  std::istringstream text{sim::platform_toml(kPlatform)};
  std::vector<std::string> all;
  for (std::string line; std::getline(text, line);) {
    all.push_back(line.rfind("devices = ", 0) == 0 ? "devices = 2  # quick" : line);
  }
  return all;
}

// Those that begin "key = " and a number or a list of them.
std::vector<Line> figures() {
  std::vector<Line> found;
  const std::vector<std::string> all = lines();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t equals = all[i].find(" = ");
    if (equals == std::string::npos || all[i].front() == '#') continue;
    if (all[i].find_first_of("0123456789[", equals) == equals + 3) {
      found.push_back({i, all[i].substr(0, equals)});
    }
  }
  return found;
}

std::string with(const Line& line, const std::string& value) {
  std::vector<std::string> all = lines();
  all[line.number] = line.key + " = " + value;
  std::string text;
  for (const std::string& one : all) text += one + "\n";
  return text;
}

// Why a platform's text is refused; "" where it is taken.
std::string refusal(const std::string& text) {
  return message_of<UsageError>([&] { sim::parse_platform("extreme.toml", text); });
}

// The ends of the range that a refusal names: "... from 0.1 to 1000000".
std::pair<std::string, std::string> range_in(const std::string& text) {
  std::smatch found;
  const bool named = std::regex_search(text, found, std::regex("from (\\S+) to ([^\\s,]+)"));
  EXPECT_TRUE(named) << text;
  return named ? std::make_pair(found[1].str(), found[2].str())
               : std::pair<std::string, std::string>();
}

template <typename Options>
Options quick(Options options) {
  options.mode.warm_up_seconds = 0;
  options.mode.min_iterations = options.mode.max_iterations = 2;
  options.device_name = "sim";
  return options;
}

void run(const Benchmark& benchmark) {
  for (const Case& one : benchmark.cases) {
    try {
      one.run();
    } catch (const Unavailable&) {
      // Skipped, as peers are where there is one device.
    } catch (const OutOfMemory&) {
      // Skipped: the least of memory.
    }
  }
}

void run_all(Machine& machine) {
  GemmOptions gemm = quick(GemmOptions{});
  gemm.shapes = parse_shapes("512x512x512");
  run(gemm_benchmark(machine, gemm, {}));
  CopyOptions copy = quick(CopyOptions{});
  copy.sizes = {64 << 10};
  copy.matrix_bytes = 0;
  copy.patterns = {Pattern::pair};
  copy.directions = {false};
  run(copy_benchmark(machine, copy, {}));
  CollectiveOptions collective = quick(CollectiveOptions{});
  collective.kinds = {CollectiveKind::all_reduce};
  collective.sizes = {256 << 10};
  collective.in_place = {false};
  run(collective_benchmark(machine, collective, {}));
}

void expect_runs(const std::string& text) {
  const std::string path =
      ::testing::TempDir() + "duet_extremes_" + std::to_string(getpid()) + ".toml";
  std::ofstream(path) << text;
  const auto machine = open_machine("sim:" + path);
  std::remove(path.c_str());
  if (machine->size() > 16) return;  // each rank is a thread
  EXPECT_NO_THROW(run_all(*machine));
}

TEST(Extremes, BeyondTheRangeAreRefusedInWords) {
  const std::vector<Line> all = figures();
  ASSERT_GT(all.size(), 60u);
  for (const Line& line : all) {
    for (const char* value : {"-1", "1e-300", "1e308", "nan", "inf", "9223372036854775807", "true",
                              "[2147483648, 1]", "\"much\""}) {
      const std::string text = refusal(with(line, value));
      // Of latencies 0 is allowed, and so is next to nothing.
      if (text.empty() && value == std::string("1e-300")) continue;
      EXPECT_NE(text.find(line.key + "' is "), std::string::npos) << line.key << " = " << value;
      range_in(text);
    }
  }
}

TEST(Extremes, AtTheEndsOfTheRangeRun) {
  for (const Line& line : figures()) {
    const bool list = lines()[line.number].find(" = [") != std::string::npos;
    const auto [least, most] = range_in(refusal(with(line, "-1")));
    for (const std::string& end : {least, most}) {
      const std::string value = list ? "[" + end + ", " + end + "]" : end;
      SCOPED_TRACE(line.key + " = " + value);
      const std::string text = with(line, value);
      // A rate of a link is at most its raw one.
      if (refusal(text).find("at most raw_gb_per_s") != std::string::npos) continue;
      EXPECT_EQ(refusal(text), "");
      expect_runs(text);
    }
  }
}

}  // namespace
}  // namespace duet
