#include "timing/energy_meter.h"

#include <algorithm>
#include <chrono>

#include "core/clock.h"
#include "core/error.h"
#include "core/thread.h"

namespace duet {
namespace {

// A reading occupies the driver for some 10 us per device; counters change every 20 to 100 ms.
constexpr std::chrono::milliseconds kInterval{3};

double watts_limit_of(Team& team) {
  double sum = 0;
  for (int local = 0; local < team.local_size(); ++local) {
    const auto telemetry = team.local_rank(local).device.telemetry();
    if (!telemetry || telemetry->watts_limit <= 0) return 0;
    sum += telemetry->watts_limit;
  }
  return sum;
}

}  // namespace

void CounterTrace::add(double begin, double end, double joules) {
  if (read_ && joules != joules_) {
    const Change change{end, joules, end - begin_};
    if (!first_) {
      first_ = change;
    } else {
      last_ = change;
    }
  }
  read_ = true;
  begin_ = begin;
  joules_ = joules;
}

double CounterTrace::covered() const { return last_ ? last_->seconds - first_->seconds : 0; }

double CounterTrace::watts() const {
  if (!last_) throw BadArgument("energy counter: expected two changes");
  return (last_->joules - first_->joules) / covered();
}

// Both changes are seen late, never early, so the two errors do not add up.
double CounterTrace::resolution() const {
  return last_ ? std::max(first_->late, last_->late) / covered() : 1;
}

std::vector<EnergyCounter> energy_counters(Team& team) {
  std::vector<EnergyCounter> counters;
  for (int local = 0; local < team.local_size(); ++local) {
    Device& device = team.local_rank(local).device;
    const std::string& name = device.info().name;
    if (!device.joules()) throw Unavailable(name + " has no energy counter");
    counters.push_back({name, [&device] { return device.joules(); }});
  }
  return counters;
}

EnergyMeter::EnergyMeter(std::vector<EnergyCounter> counters)
    : counters_(std::move(counters)),
      traces_(counters_.size()),
      reader_(start_thread("the thread that reads energy counters", [this] {
        while (!stop_) {
          read();
          std::this_thread::sleep_for(kInterval);
        }
      })) {}

EnergyMeter::~EnergyMeter() {
  stop_ = true;
  reader_.join();
}

void EnergyMeter::read() {
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    const double begin = steady_now();
    const std::optional<double> joules = counters_[i].joules();
    const double end = steady_now();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (joules) {
      traces_[i].add(begin, end, *joules);
    } else {
      lost_ = counters_[i].device;
    }
  }
}

// The index of the device with the smallest covered(). The caller holds the mutex.
std::size_t EnergyMeter::least() const {
  if (!lost_.empty()) throw Error(lost_ + ": its energy counter cannot be read any more");
  const auto found = std::min_element(
      traces_.begin(), traces_.end(),
      [](const CounterTrace& a, const CounterTrace& b) { return a.covered() < b.covered(); });
  return static_cast<std::size_t>(found - traces_.begin());
}

double EnergyMeter::covered() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return traces_[least()].covered();
}

std::string EnergyMeter::slowest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counters_[least()].device;
}

double EnergyMeter::resolution() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  least();
  double worst = 0;
  for (const CounterTrace& trace : traces_) worst = std::max(worst, trace.resolution());
  return worst;
}

double EnergyMeter::watts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  least();
  double sum = 0;
  for (const CounterTrace& trace : traces_) sum += trace.watts();
  return sum;
}

EnergySource energy_source(Team& team) {
  EnergySource source;
  try {
    source.counters = energy_counters(team);
    source.watts_limit = watts_limit_of(team);
  } catch (const Unavailable& error) {
    source.unavailable = error.what();
  }
  return source;
}

}  // namespace duet
