// A list of transfers as a Work. All transfers run at once; every byte is verified.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "copy/transfer.h"
#include "timing/work.h"

namespace duet {

class CopyWork : public Work {
 public:
  // The transfers of a shape, with `bytes` each.
  CopyWork(Team& team, const CopyShape& shape, std::uint64_t bytes);
  CopyWork(Team& team, const std::vector<Transfer>& list);

  std::string name() const override { return "copy"; }
  // Wire bytes between devices, or between device and host. If all transfers are within devices:
  // memory bytes read plus written.
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  bool host_driven() const override;
  void renew(Rank& rank) override;
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // The engines of its copies by Executor::sdma, after prepare(): "SDMA 2 of hip:0, SDMA 4 of
  // hip:1", each once. "" if there are none.
  std::string engines() const;

 private:
  // A transfer with its buffers and stream. The issuing rank allocates and frees the buffers, on
  // the devices of source and destination.
  struct CopyLane {
    Transfer transfer;
    std::uint64_t seed = 0;
    Buffer source, destination;
    std::unique_ptr<Stream> stream;  // nullptr for a rank's first lane: uses the sampler's stream
    std::unique_ptr<Event> begin, end;
    std::string engine;  // by Executor::sdma only
  };

  static Copy copy_of(const CopyLane& lane);
  void allocate(CopyLane& lane);
  void fill(CopyLane& lane);

  Team& team_;
  std::vector<CopyLane> lanes_;
};

}  // namespace duet
