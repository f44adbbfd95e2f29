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

}  // namespace

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

}  // namespace duet
