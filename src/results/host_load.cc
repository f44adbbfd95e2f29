#include "results/host_load.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

namespace duet {
namespace {

constexpr double kHighOthers = 0.1;
constexpr double kHighSteal = 0.02;
constexpr double kFewestSeconds = 0.2;  // 20 ticks of one hardware thread at 100 ticks a second

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double own_seconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double share_of(double part, double whole) { return std::clamp(part / whole, 0.0, 1.0); }

double rounded_share(double share) { return std::round(1000 * share) / 1000; }

}  // namespace

std::optional<HostTimes> parse_host_times(std::string_view stat, double ticks) {
  enum { user, nice, system, idle, iowait, irq, softirq, steal, fields };
  std::istringstream line(std::string(stat.substr(0, stat.find('\n'))));
  std::string word;
  std::array<double, fields> values{};
  if (!(line >> word) || word != "cpu") return std::nullopt;
  for (double& value : values) {
    if (!(line >> value)) return std::nullopt;
    value /= ticks;
  }
  HostTimes times;
  times.busy = values[user] + values[nice] + values[system] + values[irq] + values[softirq];
  times.steal = values[steal];
  times.all = times.busy + times.steal + values[idle] + values[iowait];
  return times;
}

std::optional<HostTimes> host_times() {
  std::ifstream file("/proc/stat");
  std::string line;
  const long ticks = sysconf(_SC_CLK_TCK);
  if (ticks <= 0 || !std::getline(file, line)) return std::nullopt;
  auto times = parse_host_times(line, static_cast<double>(ticks));
  if (times) times->own = own_seconds();
  return times;
}

std::optional<LoadShare> load_between(const HostTimes& begin, const HostTimes& end) {
  const double all = end.all - begin.all;
  if (all < kFewestSeconds) return std::nullopt;
  return LoadShare{share_of(end.busy - begin.busy - (end.own - begin.own), all),
                   share_of(end.steal - begin.steal, all)};
}

HostLoad host_load(const LoadShare& load) {
  return {std::nullopt, rounded_share(load.others), rounded_share(load.steal)};
}

HostLoad load_average() {
  std::ifstream file("/proc/loadavg");
  double average = 0;
  if (!(file >> average)) return {};
  return {average, std::nullopt, std::nullopt};
}

bool is_high(const LoadShare& load) { return load.others > kHighOthers || load.steal > kHighSteal; }

std::string load_text(const LoadShare& load) {
  return fmt::format("others used {:.0f}% of the CPU, {:.0f}% was stolen", 100 * load.others,
                     100 * load.steal);
}

std::optional<LoadShare> busy_with(const Record& record) {
  const std::string& device = record.id.device;
  if (!record.load || (device != "host" && device.compare(0, 5, "host:") != 0)) return {};
  const LoadShare share{record.load->others.value_or(0), record.load->steal.value_or(0)};
  if (!is_high(share)) return {};
  return share;
}

std::optional<LoadShare> LoadMeter::share() const {
  const auto now = host_times();
  return begin_ && now ? load_between(*begin_, *now) : std::nullopt;
}

}  // namespace duet
