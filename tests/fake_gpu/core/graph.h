// What captures of streams make.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/error.h"

namespace fake_gpu {

class Event;
class Stream;
struct Mark;

// Wrong use of captures: it is invalid by an earlier error; it did not begin on this stream; a
// stream that joined it has work that the first does not wait for; an event of no capture in one,
// or of another.
enum class Misuse { invalidated, unmatched, unjoined, isolation };
class CaptureError : public duet::Error {
 public:
  explicit CaptureError(Misuse kind);
  const Misuse misuse;
};

// A place in a graph: behind so many nodes of each branch.
using Position = std::vector<std::size_t>;

// A branch for each stream of the capture. A launch runs the nodes of a branch in their order, and
// branches at a time.
class Graph : public std::enable_shared_from_this<Graph> {
 public:
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::uint64_t id;  // of the capture; no other has it; never 0

  // While it is captured, by one thread at a time.
  std::size_t add_branch();
  void add(std::size_t branch, std::function<void()> work);
  void add_wait(std::size_t branch, const Position& behind);  // of what is added next
  // Each launch waits here for what the event recorded last before it, in no capture.
  void wait_at_launch(std::size_t branch, Event& event);
  // Each launch records the event there. The record's number.
  std::size_t record_at_launch(Event& event, const Position& behind);
  void extend_record(std::size_t record, const Position& behind);  // there as well
  const Position& end_of(std::size_t branch) const { return branches_[branch].end; }
  void invalidate() { invalid_ = true; }
  bool invalid() const { return invalid_; }
  void end() { ended_ = true; }
  bool ended() const { return ended_; }
  bool is_joined() const;  // the first branch's end is behind all nodes

  std::size_t size() const { return size_; }  // pieces of work
  void launch(Stream& stream);                // after the capture

 private:
  struct Launch {
    explicit Launch(std::size_t branches) : done(branches) {}
    std::vector<std::atomic<std::size_t>> done;            // nodes, by branch
    std::vector<std::shared_ptr<Mark>> awaited, recorded;  // null: of an event never recorded
  };
  struct Node {
    std::function<void(Launch&)> work;
    Position behind;
  };
  struct Branch {
    std::vector<Node> nodes;
    Position end;
  };
  struct Record {
    Event* event;
    Position behind;
  };

  void add_node(std::size_t branch, std::function<void(Launch&)> work);
  void run(Launch& launch) const;
  void run_branch(Launch& launch, std::size_t branch) const;
  void reach_records(Launch& launch) const;
  static bool has_come(const Launch& launch, const Position& place);

  std::vector<Branch> branches_;
  std::vector<Event*> awaited_;
  std::vector<Record> records_;
  std::size_t size_ = 0;
  std::atomic<bool> ended_{false}, invalid_{false};
};

}  // namespace fake_gpu
