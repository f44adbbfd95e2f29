#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "device/device.h"

namespace duet {

// When the steps of a rank's calls ran, by an event before and behind each on its stream. A step
// begins when its stream's step before it has ended, so a copy's time has its wait for a copy
// engine.
class CallTimeline : public StepObserver {
 public:
  struct Step {
    int lane = 0;  // 0: the caller's stream
    std::string what;
    double begin = 0, end = 0;  // seconds after begin()
  };

  // The device must outlive it.
  explicit CallTimeline(Device& device) : device_(device) {}

  // Where the times count from.
  void begin(Stream& stream);
  void begins(Stream& stream, int lane, const std::string& what) override;
  void ends(Stream& stream) override;

  // In the order of enqueueing. The streams must have been synchronised.
  std::vector<Step> steps() const;

 private:
  struct Marks {
    int lane;
    std::string what;
    std::unique_ptr<Event> begin, end;
  };
  std::unique_ptr<Event> recorded(Stream& stream);

  Device& device_;
  std::unique_ptr<Event> begin_;
  std::vector<Marks> marks_;
};

}  // namespace duet
