// The communicators whose calls may be taken over, by NCCL's handles.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "collectives/nccl/abi.h"
#include "nccl_shim/call_counts.h"
#include "nccl_shim/protocol/device.h"
#include "nccl_shim/protocol/pair_copies.h"
#include "nccl_shim/settings.h"

namespace duet::nccl_shim {

// One rank of such a communicator.
class Communicator {
 public:
  Communicator(std::unique_ptr<ShimDevice> on, std::unique_ptr<PairCopies> by, std::string named,
               bool blocking_calls, const Thresholds& taken);
  ~Communicator();  // as ~PairCopies; what something may still use is kept for end_left()
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  std::unique_ptr<ShimDevice> device;
  std::unique_ptr<PairCopies> copies;
  const std::string name;  // of its shared memory
  const bool blocking;     // by NCCL's configuration
  const Thresholds thresholds;
  std::atomic<bool> aborted{false};     // by this rank: NCCL alone knows its state
  std::atomic<bool> told{false};        // the program, of its asynchronous error
  std::atomic<bool> finalizing{false};  // if it is nonblocking, without a wait for calls
  std::atomic<CommunicatorCounts*> counts{nullptr};  // from its first call on, if calls are counted

  // Names a creation from this communicator by a call that all ranks of the new one make with the
  // same `what`: by that, and how many such calls there were before.
  std::string name_part(const std::string& what);

 private:
  std::mutex mutex_;  // guards parts_
  std::map<std::string, int> parts_;
};

// Null for a handle that is not entered, and in a process that was forked: the call is forwarded.
// It lives as long as the caller has it, also if another thread takes it out.
std::shared_ptr<Communicator> find(nccl::Comm handle);
void enter(nccl::Comm handle, std::shared_ptr<Communicator> communicator);
std::shared_ptr<Communicator> take_out(nccl::Comm handle);

// Frees what communicators that have ended have left, where nothing uses it any more. May wait for
// the device.
void end_left();

bool is_forked();  // whether this process is a child of one with communicators

}  // namespace duet::nccl_shim
