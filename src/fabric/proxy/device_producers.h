#pragma once

#include <memory>
#include <vector>

#include "fabric/proxy/producers.h"

namespace duet {

// Blocks of a GPU that push.
class DeviceProducers : public Producers {
 public:
  DeviceProducers(Device& device, Fifo& fifo, const ProducerTask& task);
  ~DeviceProducers() override;
  DeviceProducers(const DeviceProducers&) = delete;
  DeviceProducers& operator=(const DeviceProducers&) = delete;

  void begin() override;
  bool ended() override;
  double end() const override { return end_; }
  std::vector<double> push_seconds() const override;
  double clock_offset() const override { return offset_; }

 private:
  PushControl& control() const { return *reinterpret_cast<PushControl*>(control_.span().data); }
  void compare_clocks();

  ProducerTask task_;
  Buffer control_, push_nanoseconds_;  // pinned
  Buffer counts_;                      // the device's own
  std::unique_ptr<Stream> stream_;
  double offset_ = 0, end_ = 0;
  int polls_ = 0;
};

}  // namespace duet
