// A queue of work on one device. Work of a stream runs in order; streams run concurrently. Every
// call only enqueues, except idle(), synchronize() and copies of pageable memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/reduction.h"
#include "device/buffer.h"
#include "device/event.h"
#include "device/graph.h"

namespace duet {

// Who moves the bytes of a copy: a copy engine (CE, SDMA) by the vendor's runtime, which may choose
// otherwise; an SDMA engine that Duet chooses (hip only); the compute units (SM, CU); the CPU.
enum class Executor { dma, sdma, kernel, host };
const char* name(Executor executor);
Executor parse_executor(std::string_view text);  // throws UsageError
// For devices whose engines Duet cannot choose: throws Unavailable.
[[noreturn]] void refuse_sdma();

struct StreamOptions {
  int priority = 0;  // higher runs sooner; clamped to what the device has (see DeviceInfo)
  // Compute units that its kernels may run on; 0: all.
  int units = 0;
};

// The launch shape of a kernel executor; 0 lets the device choose.
struct KernelShape {
  int grid = 0;
  int block = 0;
  // Instead of both: one block of a single warp and few registers on each compute unit. Most
  // kernels leave room for it, so it runs beside kernels that have taken all units, at a part of
  // the rate.
  bool one_warp_per_sm = false;
};

// destination and source have the same size and lie on devices of one machine. The stream's device
// issues the copy: on the source's device that is a push (a kernel writes to its peer), on the
// destination's device a pull (a kernel reads from it). Either side may be pinned or pageable
// memory. With pageable memory the call may block until the device has taken the bytes: behind a
// wait that only the caller would end, it blocks for ever. Throws BadArgument if sizes differ, or
// if neither side is the stream's.
struct Copy {
  Span destination;
  Span source;
  Executor executor = Executor::dma;
  KernelShape shape;
};

enum class FillKind {
  pattern,   // random bytes: pattern_byte(seed, offset + i), see core/random.h
  constant,  // every byte is the low byte of seed
  normal,    // elements of `dtype` from a standard normal distribution (integers: 16 times that,
             // rounded and clamped to the type; fp8: no negative zero, NaN in gfx942's fp8)
  digits,    // elements of `dtype`: integers so small that any sum over `ranks` such fills is
             // exact in it, in any order (device/digits.h)
  unit,  // fp32 elements in [1, 2), of which all 23 bits of the fraction are random: element i is
         // random_unit_bits(seed, offset / 4 + i)
  digits_reduced,  // the result of reducing `ranks` fills of digits, with seeds seed, seed + 1
                   // ...
};

// The bytes that a span is filled with.
struct Fill {
  FillKind kind = FillKind::pattern;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;  // position of the span's first byte in the pattern, the units or the
                             // digits; of units and digits, whole elements
  DType dtype = DType::fp32;
  Reduction op = Reduction::sum;  // of digits_reduced
  int ranks = 1;                  // of digits and digits_reduced
};

// The work of one task, from which a simulated device computes the task's time.
struct Demand {
  double flop = 0;
  DType dtype = DType::fp32;  // the type of the FLOP, which selects the device's peak rate
  double memory_bytes = 0;    // to and from device memory
  double workgroups = 0;      // equal parts of the task; 0: the device chooses
  double efficiency = 1;      // share of the peak rate that this task's code reaches
};

// Work given as a function. A host stream runs `body`. A simulated stream takes the virtual time of
// `demand`, and then runs `body` where the buffers that it uses have contents.
struct Task {
  std::string name;
  Demand demand;
  std::function<void()> body;
};

// Semaphores with the values 0 and 1 between streams that synchronise with each other. The stream
// that waits for a semaphore sets it back to 0 before its own next signal, so that all calls are
// equal and a captured call can be replayed.
struct Handshake {
  std::vector<Semaphore> signals;  // set to 1
  std::vector<Semaphore> waits;    // awaited to be 1, then set to 0
};

class Device;
class PreparedKernel;

class Stream {
 public:
  // Does not wait for the stream's work. Work that has not started may run or be dropped, depending
  // on the device: synchronise first where that matters.
  virtual ~Stream() = default;
  virtual Device& device() = 0;

  virtual void copy(const Copy& copy) = 0;
  virtual void fill(const Span& span, const Fill& fill) = 0;
  virtual void record(Event& event) = 0;  // the event must be of this machine
  virtual void wait(Event& event) = 0;    // for its last record(); nothing if never recorded

  // After all earlier work of the stream is visible, writes `value` to the semaphore's word, which
  // may lie on a peer; streams that wait see data that was written before the signal.
  virtual void signal(const Semaphore& semaphore, std::uint64_t value) = 0;
  // Later work of the stream starts when the word is >= value.
  virtual void wait(const Semaphore& semaphore, std::uint64_t value) = 0;

  // Signals all, as signal() does, and then waits for all; by a single driver call if the driver
  // has one.
  virtual void handshake(const Handshake& handshake);

  // Runs a kernel that this stream's device prepared. The kernel must live until it has run. Throws
  // BadArgument for another device's kernel.
  virtual void launch(PreparedKernel& prepared) = 0;

  // Throws Unavailable on devices that run only their own kernels (cuda, hip).
  virtual void run(const Task& task) = 0;

  // Between begin_capture() and end_capture(), work enqueued on this stream, and on streams that
  // fork from it by events, is recorded and not run. Use capture() of device/graph.h, which ends
  // the capture in all cases. Meanwhile idle() and synchronize() must not be called on these
  // streams; other threads are not affected. Both functions throw Unavailable if the device cannot
  // capture, or cannot capture the enqueued work. end_capture() throws if forked streams have not
  // joined again. abandon_capture() leaves the stream as before begin_capture().
  virtual void begin_capture() = 0;
  virtual std::unique_ptr<Graph> end_capture() = 0;
  virtual void abandon_capture() noexcept = 0;

  virtual bool idle() = 0;  // rethrows an error of the stream's work
  // Blocks the calling rank until idle(). Throws Timeout naming the stream after the deadline;
  // rethrows an error of the stream's work.
  virtual void synchronize(double deadline_seconds) = 0;

  virtual void* native() { return nullptr; }  // cudaStream_t, hipStream_t; else nullptr
};

}  // namespace duet
