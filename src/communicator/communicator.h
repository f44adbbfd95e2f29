// Duet's collectives for programs that have GPU memory and streams of their own: the public C++
// API. docs/library.md is its page.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "communicator/local_rank.h"
#include "core/deadline.h"
#include "core/error.h"
#include "team/launch.h"
#include "team/network_options.h"

namespace duet {

struct CommunicatorOptions {
  std::string device = "cuda";  // as --device: "cuda", "cuda:0,1", "hip", "host:4", "sim:h200-4"
  std::string engine = "auto";  // "auto", "dma", "kernel" or a library's (docs/collectives.md)
  int port = 0;                 // of process 0 at MASTER_ADDR; 0: MASTER_PORT, or 29500
  double deadline_seconds = kDefaultDeadlineSeconds;  // for all processes to connect
  // Between nodes (docs/nodes.md). `node_size`: this many consecutive ranks are a node; 0: ranks
  // that can map each other's memory are a node.
  NetworkOptions network{};
  int node_size = 0;
  std::optional<Launch> launch{};  // how the processes find each other; else by find_launch()
};

class GroupSessions;

// A division of a communicator's ranks into groups, whose ranks make collectives among themselves:
// those that share a layer, say, beside those that sum its gradients. Made by
// Communicator::divide(), which it must not outlive. Move-only.
class RankGroups {
 public:
  explicit RankGroups(std::unique_ptr<GroupSessions> sessions);
  RankGroups(RankGroups&& other) noexcept;
  RankGroups& operator=(RankGroups&& other) noexcept;
  ~RankGroups();

  // Inside of Communicator::each(): the rank as one of its group, numbered from 0 in the order of
  // the group's ranks. All ranks of the communicator make the same collective calls on it in the
  // same order, each with its own group's data: barriers and errors are those of all ranks. Valid
  // as long as `rank` and this are.
  LocalRank of(const LocalRank& rank) const;

 private:
  std::unique_ptr<GroupSessions> sessions_;
};

// The ranks of one or several processes, one per device. Processes belong together if they were
// launched together: by mpirun, srun, or with MASTER_ADDR, RANK and WORLD_SIZE set. All of them
// construct it with equal options, and one thread of each makes the calls below. All of them
// destroy it when its calls have ended.
//
// After an error in each() the calls planned before throw PeerFailed, and others can be planned:
// the next each() connects the ranks anew where rails or a library's communicators have not
// survived the error. NVSHMEM's engines cannot be used any more then. Once a process has died all
// calls throw: destroy the communicator. With MASTER_ADDR every communicator of a process needs a
// port of its own, even after an earlier one has been destroyed, because that one's port may still
// be closing.
class Communicator {
 public:
  // Blocks until all processes have connected. Throws UsageError for a device, engine or
  // environment that does not exist, naming what was expected; Unavailable if the engine cannot run
  // on these devices; Timeout naming the missing processes.
  explicit Communicator(const CommunicatorOptions& options = {});
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int size() const;         // ranks of all processes
  int local_size() const;   // ranks of this process
  int first_local() const;  // the lowest rank of this process

  // Runs fn for every rank of this process, the first on the calling thread and each other one on a
  // thread of its own, and returns when the ranks of all processes have ended. If a rank throws,
  // the others' barriers and plans throw, and the first error is rethrown. Streams that wait for
  // other ranks are then released, and the contents of their buffers are undefined.
  //
  // Hazard: when a rank throws, its peers' streams may still use its buffers. Buffers that are
  // declared outside of fn, or come from allocate(), live long enough.
  void each(const std::function<void(LocalRank&)>& fn);

  // Collective among processes, outside of each(): groups of equal size that together are all
  // ranks, each in rising order, by Duet's own engines. After an error in each(), divide anew.
  // Throws BadArgument for other groups; Unavailable where the engine cannot run on them, and where
  // processes have ranks of different numbers of groups.
  RankGroups divide(const std::vector<std::vector<int>>& groups);

  // Why calls that are under way may have no result: which rank of the current or last each() has
  // failed, or which process is gone; "" if all is well. For loops that launch graphs, which throw
  // nothing. From any thread.
  std::string failure() const;
  // Fails the current each() in all processes, as if the rank had thrown an error of this text,
  // without waiting for its end. From any thread.
  void fail(int rank, const std::string& why);
  // The same, and to other processes this one is gone from now on: their calls and this
  // communicator's throw, and none waits for it. For who ends without the others. From any thread.
  void abandon(const std::string& why);
  // Calls `notify` with the reason when a rank fails or a process is gone, on any thread, perhaps
  // more than once; at once if that has happened already. It must not wait for ranks. Returns a
  // number for forget(), after which it does not run.
  int on_failure(std::function<void(const std::string&)> notify);
  void forget(int number);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duet
