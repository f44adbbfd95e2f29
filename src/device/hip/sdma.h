// Copies by SDMA engines that Duet chooses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/gpu/machine.h"
#include "device/gpu/vendor_calls.h"
#include "device/hip/hsa.h"

namespace duet::hip {

// The engines of one GPU. Each other end of its copies keeps one of them: with a link to each peer,
// pairs share neither engine nor link, and a record says who moved the bytes.
class EngineChoice {
 public:
  // One bit. Throws Unavailable where ROCr names no engine for the two.
  std::uint32_t engine(const Hsa& hsa, Hsa::Agent to, Hsa::Agent from);

 private:
  std::uint32_t least_used(std::uint32_t engines);

  std::mutex mutex_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> kept_;  // by to and from
  std::map<std::uint32_t, int> uses_;                                      // by engine
};

class SdmaCopies : public EngineCopies {
 public:
  explicit SdmaCopies(GpuDevice& device);
  ~SdmaCopies() override;
  SdmaCopies(const SdmaCopies&) = delete;
  SdmaCopies& operator=(const SdmaCopies&) = delete;

  std::string engine_of(const Copy& copy) override;
  void copy(const Copy& copy, hipStream_t stream) override;
  void rethrow() override;

  static SdmaCopies& of(GpuDevice& device) {
    return static_cast<SdmaCopies&>(device.engine_copies());
  }

  struct Route {
    SdmaCopies* copier = nullptr;  // the GPU whose engine copies
    Hsa::Agent to, from;
    std::uint32_t engine = 0;
    std::uint32_t telling_engine = 0;  // from the GPU to the host
  };
  // Throws Unavailable where the copy cannot be made so.
  Route route_of(const Copy& copy) const;

  const Hsa& hsa() const { return hsa_; }
  Hsa::Agent agent() const { return agent_; }
  // Words of this GPU's memory, for copies to semaphores.
  Span one() const { return constants_.slice(0, sizeof(std::uint64_t)); }
  Span zero() const { return constants_.slice(sizeof(std::uint64_t), sizeof(std::uint64_t)); }

  // Keeps the error of a copy that ROCr has not taken, for rethrow(). Any thread may call it.
  void fail(const Hsa::EngineCopy& copy, Hsa::Status status);

 private:
  // What one copy needs until its stream has passed it.
  struct Ticket {
    SdmaCopies* owner = nullptr;
    std::uint64_t* word = nullptr;  // pinned
    hipEvent_t released = nullptr;
    Hsa::EngineCopy move, tell;
  };

  static SdmaCopies& of(const Span& span) { return of(*static_cast<GpuDevice*>(span.owner)); }
  // Memory of another process is its importer's here.
  Hsa::Agent agent_of(const Span& span) const {
    return gpu::is_host_memory(span) ? cpu_ : of(span).agent_;
  }
  Hsa::Agent gpu_with(const Span& imported) const;
  void add_tickets();
  Ticket& take_ticket();
  bool engines_are_done(const Ticket& ticket) const;
  bool is_free(const Ticket& ticket) const;
  static void submit(void* ticket);

  GpuDevice& device_;
  const Hsa& hsa_;
  Buffer constants_;  // 1 and 0
  Hsa::Agent agent_, cpu_;
  EngineChoice choice_;

  std::mutex mutex_;  // of what follows
  std::vector<Buffer> words_;
  std::vector<std::unique_ptr<Ticket>> tickets_;
  std::size_t next_ = 0;
  std::string failure_;  // of a copy, until it is thrown
};

}  // namespace duet::hip
