#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "fabric/pieces.h"
#include "fabric/region.h"
#include "fabric/traffic.h"

namespace duet {

// Writes to peers, or reads from them, with at most `window` messages in flight. Each message goes
// in pieces over the rails; the pieces of a lost rail go over the others.
class OneSided : public Sender {
 public:
  // `here`: where data come from (writes) or go to (reads); `there`: the same of the peers. All
  // must outlive it.
  OneSided(Traffic& traffic, RailSet& rails, const FabricLoad& load, const Region& here,
           const Region& there, std::function<double()> now);

  // start() opens the first messages of the window, and each that ends opens the next. Instead, a
  // caller with an order of its own open()s each message once.
  void start();
  void open(std::size_t message);
  bool done() const { return ends_.size() == load_.messages.size(); }
  std::size_t size() const { return load_.messages.size(); }
  // The messages that have ended, in that order.
  const std::vector<std::size_t>& ends() const { return ends_; }
  // Of each message, from its first post to the end of its last piece, in the order of their ends.
  const std::vector<double>& latencies() const { return latencies_; }

  void ended(std::uint64_t token) override;
  bool lost(int rail, const std::vector<std::uint64_t>& tokens) override;

 private:
  struct PendingPiece {
    std::uint64_t message = 0;
    MessagePiece piece;
  };
  struct MessageProgress {
    double begin = 0;
    std::size_t pieces = 0;  // not ended
  };

  void begin(std::size_t message, double now);
  void queue(PendingPiece pending);
  int living_rail(int rail);

  Traffic& traffic_;
  RailSet& rails_;
  const FabricLoad& load_;
  const Region& here_;
  const Region& there_;
  std::function<double()> now_;
  MessagePieces cuts_;                 // for the rails that were living at first
  std::vector<PendingPiece> pending_;  // by token
  std::vector<std::uint64_t> free_;
  std::vector<MessageProgress> progress_;  // by message
  std::size_t replaced_ = 0;
  std::size_t next_ = 0;  // to open when one ends
  bool started_ = false;
  std::vector<std::size_t> ends_;
  std::vector<double> latencies_;
};

}  // namespace duet
