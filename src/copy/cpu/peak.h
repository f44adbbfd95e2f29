// The CPU's copy peak, to which copies on the CPU are compared, because no specified bandwidth is
// known: the fastest plain loop that reads one buffer and writes another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "copy/cases.h"
#include "timing/work.h"

namespace duet {

// A copy loop for one thread.
struct CopyLoop {
  static constexpr std::size_t kStep = 256;  // bytes

  std::string name;  // "non-temporal stores, 512 bits"
  // `to` is aligned to 64 bytes, `bytes` a multiple of kStep.
  void (*run)(std::byte* to, const std::byte* from, std::size_t bytes) = nullptr;
};

// The loops that this CPU supports; at least one.
std::vector<CopyLoop> copy_loops();

// Copies `bytes`, a multiple of CopyLoop::kStep, from one buffer to another by `threads` threads at
// once.
class CopyPeakWork : public Work {
 public:
  CopyPeakWork(std::uint64_t bytes, int threads) : bytes_(bytes), threads_(threads) {}

  std::string name() const override { return "copy-peak"; }
  Cost cost() const override;  // bytes read plus written, as for copies within a device
  // Times every loop and keeps the fastest.
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  void renew(Rank& rank) override;
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  const CopyLoop& loop() const { return loop_; }  // after prepare()

 private:
  Fill payload() const;
  void copy(const CopyLoop& loop) const;
  double seconds(Device& device, Stream& stream, const CopyLoop& loop) const;

  std::uint64_t bytes_;
  int threads_;
  std::uint64_t seed_ = 1;
  CopyLoop loop_;
  Buffer source_, destination_;
};

// Bytes of a CPU's copy peak: far more than its cache has.
std::int64_t copy_peak_bytes(const DeviceInfo& info);

// The copy peak's size, where the device is a CPU, all `sizes` are smaller, and two buffers of that
// size take at most half of its memory.
std::optional<std::uint64_t> size_beyond_cache(const DeviceInfo& info,
                                               const std::vector<std::uint64_t>& sizes);

// The case of the copy peak of a machine of host devices, by as many threads as the executor uses
// on one of them: one for `dma`, one per core for `kernel`. Always measured in mode adaptive. The
// machine must outlive the case. If it cannot run it throws OutOfMemory.
Case copy_peak_case(Machine& machine, const std::string& device_name, Executor executor,
                    const std::function<bool()>& stop);

// The cases of the CPU's copy peak: one per executor of the options for which `copies`, the cases
// of `duet copy`, have a copy within a host device that is as large as the peak's.
std::vector<Case> copy_peak_cases(Machine& machine, const CopyOptions& options,
                                  const std::vector<Case>& copies,
                                  const std::function<bool()>& stop);

}  // namespace duet
