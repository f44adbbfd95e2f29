#pragma once

#include <memory>
#include <string>

#include "collectives/peer/watchdog.h"
#include "halo/engine.h"
#include "halo/nvshmem/calls.h"

namespace duet::nvshmem {

// Throws Error with the library's reason unless `result` is 0.
void require(const Calls& calls, int result, const char* what);

// Symmetric memory of one PE, as a span of its device. After a failure it is not freed: freeing is
// a collective call, and NVSHMEM cannot abort one.
class SymmetricMemory {
 public:
  // Collective. Throws OutOfMemory.
  SymmetricMemory(const Calls& calls, Rank& rank, std::size_t bytes, const Watchdog& watchdog);
  ~SymmetricMemory();
  SymmetricMemory(const SymmetricMemory&) = delete;
  SymmetricMemory& operator=(const SymmetricMemory&) = delete;
  const Span& span() const { return span_; }

 private:
  const Calls& calls_;
  int pe_;
  const Watchdog& watchdog_;
  int made_at_;
  void* memory_;
  Span span_;
};

// One rank's part. The symmetric memory has both fields, of as many rows on every PE, and two
// words: one that the neighbour above signals, one for the neighbour below.
//
//   boundary rows (with overlap: first), put into the neighbours' halos
//   quiet, signals to both neighbours (of puts with signals: nothing)     | beside it, with
//   overlap, wait for both neighbours' signals                                     | the rows
//   between
class NvshmemPlan : public HaloPlan, private DeviceWaits {
 public:
  NvshmemPlan(const Calls& calls, Put put, Rank& rank, const HaloTask& task, Watchdog& watchdog);

  const FieldShape& shape() const override { return shape_; }
  Span field(int parity) const override;
  std::int64_t partials() const override;
  void enqueue(Stream& stream, const Iteration& iteration) override;
  std::string algorithm() const override;

 private:
  void release_waits() noexcept override;
  std::size_t field_bytes() const;
  float* row_of(int parity, std::int64_t row) const;
  std::uint64_t* word(std::size_t index) const;
  SweepCall sweep_call(const Iteration& iteration, bool boundary, bool interior) const;
  SyncCall sync_call() const;
  // On a device of the CPU as a task, whose stream is nullptr.
  template <typename Call>
  void run(Stream& stream, const char* name, const Call& call);

  const Calls& calls_;
  Put put_;
  Device& device_;
  Ring ring_;
  int pe_;
  bool overlap_;
  FieldShape shape_;
  std::int64_t most_rows_, rows_above_;
  SymmetricMemory memory_;
  Buffer count_;  // calls, counted by the device
  std::unique_ptr<Stream> lane_;
  std::unique_ptr<Event> swept_, exchanged_;
  Watched watched_;
};

}  // namespace duet::nvshmem
