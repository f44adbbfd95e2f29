#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace duet {

// When the parts of a step ran on a device: by events on its main stream and on streams beside it.
// The step must be enqueued, not captured.
class StepTimeline {
 public:
  struct Part {
    std::string what;
    bool beside = false;        // on another stream than the main one
    double begin = 0, end = 0;  // seconds from the step's begin
  };

  // The device must outlive it.
  explicit StepTimeline(Device& device) : device_(device) {}

  void begin(Stream& main);
  // Of the main stream: what ran there since the last part ended.
  void ended(Stream& main, std::string what);
  // Of a stream beside it: what runs between the two.
  void began_beside(Stream& beside, std::string what);
  void ended_beside(Stream& beside);

  // All parts, those of the main stream first. The streams must have been synchronised.
  std::vector<Part> parts() const;

 private:
  struct Mark {
    std::string what;
    std::unique_ptr<Event> event;
  };
  struct MarksBeside {
    std::string what;
    std::unique_ptr<Event> begin, end;
  };

  std::unique_ptr<Event> recorded(Stream& stream);

  Device& device_;
  std::unique_ptr<Event> begin_;
  std::vector<Mark> main_;  // the ends of parts
  std::vector<MarksBeside> beside_;
};

}  // namespace duet
