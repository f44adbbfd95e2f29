// The operations of models on a kind of device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "device/device.h"
#include "training/operations/operation.h"
#include "training/operations/step_timeline.h"

namespace duet {

class Operations {
 public:
  // The device must outlive them.
  explicit Operations(Device& device) : device_(device) {}
  virtual ~Operations() = default;

  // Enqueues the operation on a stream of the device, and never blocks. Throws BadArgument for
  // tensors of shapes that do not fit, and Unavailable for those that the device cannot take.
  void run(Stream& stream, const AnyOperation& operation);

  // From now on, where each operation ends is written to the timeline, as the name of its part, if
  // there is one. Operations must be enqueued on its main stream.
  void set_timeline(StepTimeline* timeline) { timeline_ = timeline; }
  // Calls `enqueue`, which runs operations on the stream, waits for them, and returns the seconds
  // of each part. Their sum is the time from the first operation to the last.
  std::array<double, kStepParts> time(Stream& stream, const std::function<void()>& enqueue);

  // Whether the two run as one GEMM for such tensors; known after their first run. Otherwise they
  // are timed as two operations.
  virtual bool fuses(const LinearGelu& operation) const = 0;
  virtual bool fuses(const LinearBackwardGelu& operation) const = 0;
  // Whether operations compute the contents of such a tensor. A simulated device computes only
  // small tensors in fp32.
  virtual bool computes(const Tensor& tensor) const = 0;
  // From now on a simulated device computes nothing: operations take their time alone.
  virtual void simulate_time_alone() {}
  // Device memory that the operations have allocated for all calls so far.
  virtual std::uint64_t workspace_bytes() const { return 0; }
  // For the journal, after a first step: what runs ("attention": "cudnn").
  virtual std::map<std::string, std::string> notes() const { return {}; }

 protected:
  // Enqueues an operation whose tensors fit.
  virtual void dispatch(Stream& stream, const AnyOperation& operation) = 0;

  Device& device_;

 private:
  // For a linear with an activation that the device computes by two kernels.
  template <typename Fused>
  bool run_separately(Stream& stream, const AnyOperation& operation);

  StepTimeline* timeline_ = nullptr;
};

struct OperationsOptions {
  // The same results, to the bit, at each call. Otherwise the fastest kernels, of which some on
  // GPUs sum in an order that changes.
  bool deterministic = true;
  double tuning_seconds = 3;  // about, for the choice of a large GEMM's algorithm; less for others
};

// The operations of a kind of device. Throws Unavailable where there are none.
std::unique_ptr<Operations> make_operations(Device& device, const OperationsOptions& options = {});

// Called by modules when they are loaded.
using MakeOperations =
    std::function<std::unique_ptr<Operations>(Device&, const OperationsOptions&)>;
void register_operations(const std::string& device_kind, MakeOperations make);

}  // namespace duet
