// What the captures of host streams make.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace duet::nccl_shim::host {

class HostEvent;
class HostStream;

// A branch for each stream of the capture. A launch does the items of a branch in their order, and
// branches at a time.
class HostGraph : public std::enable_shared_from_this<HostGraph> {
 public:
  // Behind the first `items` of a branch.
  struct Position {
    std::size_t branch, items;
  };

  HostGraph();
  HostGraph(const HostGraph&) = delete;
  HostGraph& operator=(const HostGraph&) = delete;

  const std::uint64_t id;  // of the capture; no other has it

  // While it is captured, by one thread at a time.
  std::size_t add_branch();
  void add(std::size_t branch, std::function<void()> work);
  void add_wait(std::size_t branch, const Position& behind);
  void wait_at_launch(std::size_t branch, HostEvent& event);
  std::size_t record_at_launch(HostEvent& event, const Position& behind);
  void extend_record(std::size_t record, const Position& behind);
  Position end_of(std::size_t branch) const { return {branch, branches_[branch].size()}; }
  void end() { ended_ = true; }
  bool ended() const { return ended_; }

  std::size_t size() const { return size_; }  // pieces of work
  void launch(HostStream& stream);            // after the capture

 private:
  using Flag = std::shared_ptr<std::atomic<bool>>;
  // One of the graph's.
  struct Launch {
    explicit Launch(std::size_t branches) : done(branches) {}
    std::vector<std::atomic<std::size_t>> done;  // items, by branch
    std::vector<Flag> awaited, recorded;         // null: of an event that was never recorded
  };
  using Item = std::function<void(Launch&)>;
  struct Record {
    HostEvent* event;
    std::vector<Position> behind;
  };

  void run(Launch& launch) const;
  static void wait_for(Launch& launch, const Position& behind);

  std::vector<std::vector<Item>> branches_;
  std::vector<HostEvent*> awaited_;
  std::vector<Record> records_;
  std::size_t size_ = 0;
  std::atomic<bool> ended_{false};
};

}  // namespace duet::nccl_shim::host
