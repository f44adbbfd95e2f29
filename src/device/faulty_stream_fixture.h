// For tests of what follows when enqueueing fails.
#pragma once

#include <cstdint>
#include <memory>

#include "core/error.h"
#include "device/stream.h"

namespace duet {

// A stream that throws at its n-th call, counted from 0.
class FaultyStream : public Stream {
 public:
  FaultyStream(Stream& stream, int fault) : stream_(stream), left_(fault) {}

  Device& device() override { return stream_.device(); }
  void copy(const Copy& copy) override { next().copy(copy); }
  void fill(const Span& span, const Fill& fill) override { next().fill(span, fill); }
  void record(Event& event) override { next().record(event); }
  void wait(Event& event) override { next().wait(event); }
  void signal(const Semaphore& semaphore, std::uint64_t value) override {
    next().signal(semaphore, value);
  }
  void wait(const Semaphore& semaphore, std::uint64_t value) override {
    next().wait(semaphore, value);
  }
  void handshake(const Handshake& handshake) override { next().handshake(handshake); }
  void launch(PreparedKernel& prepared) override { next().launch(prepared); }
  void run(const Task& task) override { next().run(task); }
  void begin_capture() override { stream_.begin_capture(); }
  std::unique_ptr<Graph> end_capture() override { return stream_.end_capture(); }
  void abandon_capture() noexcept override { stream_.abandon_capture(); }
  bool idle() override { return stream_.idle(); }
  void synchronize(double seconds) override { stream_.synchronize(seconds); }

 private:
  Stream& next() {
    if (left_-- == 0) throw Error("on purpose");
    return stream_;
  }

  Stream& stream_;
  int left_;
};

}  // namespace duet
