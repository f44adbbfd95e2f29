// Copies between the ranks of a node, in a fixed order, by copy engines on lanes or by one kernel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/nodes/copy_steps.h"
#include "device/collective_kernel.h"

namespace duet {

enum class MoveBy { copy_engines, kernel };

// Waits for the semaphores, which sets them back to 0; copies the source, which may have no bytes,
// to every destination; and signals. A move that signals has one destination.
struct LocalMove {
  std::vector<Semaphore> waits;
  Span source;
  std::vector<Span> destinations;
  std::vector<Semaphore> signals;
};

class LocalMoves {
 public:
  // The device's moves. Copy engines take the caller's stream and the lanes in turn; a move's
  // copies start after those of the move before it have started.
  LocalMoves(Device& device, SideStreams& lanes, MoveBy by);

  void add(LocalMove move);
  // Behind the last add(). Blocking.
  void prepare();

  // Lanes that enqueue() uses besides the caller's stream: they must be forked from it before, and
  // join it again after.
  int side_lanes() const { return by_ == MoveBy::kernel ? 0 : steps_.lanes() - 1; }
  void enqueue(Stream& stream);
  // What was added up to here, behind the round before, is a round: enqueue_round() takes them in
  // order. A kernel makes the moves of all rounds, and comes with the first one.
  void end_round() { rounds_.push_back(steps_.size()); }
  void enqueue_round(Stream& stream, std::size_t round);

  std::string description() const;  // "pushes on 2 lanes", "a kernel of 32 blocks"

 private:
  std::vector<Copy> copies_of(const LocalMove& move) const;

  Device& device_;
  SideStreams& lanes_;
  MoveBy by_;
  CopySteps steps_;
  std::vector<std::size_t> rounds_;  // the steps that each ends with
  LocalKernel kernel_;
  std::unique_ptr<PreparedKernel> prepared_;
};

}  // namespace duet
