// A machine of the device of device_spec_fixture.h and results on it, for tests of what results
// should be.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "verdict/device_spec_fixture.h"
#include "verdict/expectation.h"

namespace duet {

inline MachineFacts machine(int devices) {
  MachineFacts facts;
  facts.name = "cuda";
  for (int i = 0; i < devices; ++i) {
    DeviceInfo& device = facts.devices.emplace_back();
    device.name = "cuda:" + std::to_string(i);
    device.model = "One";
    device.cache_bytes = 50 << 20;
  }
  return facts;
}

// A call takes one second.
inline Record result(const char* benchmark, const Axes& axes, const Cost& cost) {
  Record record;
  record.id = {benchmark, "cuda", "duet", axes};
  record.seconds.median = 1;
  record.cost = cost;
  return record;
}

// `bytes`: the size of a copy; 0: a peak of another kind.
inline MeasuredPeak measured_peak(double usual, double fastest, double bytes = 0) {
  MeasuredPeak peak;
  if (bytes > 0) peak.record.id.axes.set("bytes", bytes);
  peak.usual = usual;
  peak.fastest = fastest;
  return peak;
}

class Expectations : public ::testing::Test {
 public:
  static constexpr double kMiB = 1024 * 1024;

 protected:
  Site site() const { return {machine_, "One", &spec_, {}, {}}; }
  Site cpu_site(MeasuredPeaks peaks) const {
    return {machine_, "CPU", nullptr, std::move(peaks), {}};
  }

  DeviceSpec spec_ = parse_device_spec("one", kMakerOne);
  MachineFacts machine_ = machine(4);
};

}  // namespace duet
