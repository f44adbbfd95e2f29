// Duet's collectives for programs that have GPU memory and streams of their own: the public C++
// API. docs/library.md is its page.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "communicator/local_rank.h"
#include "core/error.h"

namespace duet {

struct CommunicatorOptions {
  std::string device = "cuda";   // as --device: "cuda", "cuda:0,1", "hip", "host:4", "sim:h200-4"
  std::string engine = "auto";   // "auto", "dma", "kernel" or a peer's (docs/collectives.md)
  int port = 0;                  // of process 0, where MASTER_ADDR names it; 0: MASTER_PORT, 29500
  double deadline_seconds = 60;  // for all processes to come
};

// The ranks of one process or of several, one a device. Processes are those that were launched
// together: by mpirun, srun, or with MASTER_ADDR, RANK and WORLD_SIZE set. All of them open it with
// equal options, and one thread of each makes the calls below. It is closed by its destructor, in
// all processes, when its calls have ended.
//
// After an error in each() the calls that were planned before throw PeerFailed (NCCL's engines:
// plan nothing more either); once a process is gone all do: close it. Where MASTER_ADDR is used,
// every communicator of a process has a port of its own, also one that follows another: that one's
// may still be closing.
class Communicator {
 public:
  // Blocks until all processes have come. Throws UsageError for a device, engine or environment
  // that is not there, naming what was expected; Unavailable where the engine cannot run on these
  // devices; Timeout naming who did not come.
  explicit Communicator(const CommunicatorOptions& options = {});
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int size() const;         // ranks of all processes
  int local_size() const;   // of this one
  int first_local() const;  // the first of these

  // Runs fn for every rank of this process, the first on the calling thread and each other on one
  // of its own, and returns when those of all processes have ended. Where one threw, the others'
  // meetings throw and the first error is thrown on. Its peers' streams may then still use its
  // buffers: those that are declared outside of fn, or come from allocate(), live long enough.
  // Streams that wait for others are let go; what they leave in buffers is no result.
  void each(const std::function<void(LocalRank&)>& fn);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace duet
