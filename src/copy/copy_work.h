// A list of transfers as a Work: filled, run at once, verified to the byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "copy/transfer.h"
#include "timing/work.h"

namespace duet {

class CopyWork : public Work {
 public:
  CopyWork(Team& team, const CopyShape& shape, std::uint64_t bytes);
  // Another list of the same kind, executor, kernel and memory.
  CopyWork(Team& team, const CopyShape& shape, const std::vector<Transfer>& list);

  std::string name() const override { return "copy"; }
  // Between devices, or device and host: wire bytes. Within a device: bytes read plus written.
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  bool host_driven() const override;
  void renew(Rank& rank) override;
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

 private:
  // A transfer and what it needs. The buffers are made and freed by the rank that issues it, at the
  // devices where they lie.
  struct CopyLane {
    Transfer transfer;
    std::uint64_t seed = 0;
    Buffer source, destination;
    std::unique_ptr<Stream> stream;  // none: the first of its rank, on the sampler's own stream
    std::unique_ptr<Event> begin, end;
  };

  void allocate(CopyLane& lane);
  void fill(CopyLane& lane);

  Team& team_;
  CopyShape shape_;
  std::vector<CopyLane> lanes_;
};

}  // namespace duet
