// Writes to and reads from peers: so many messages in flight, each in pieces over rails, and what a
// lost rail leaves goes over the others.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "fabric/load.h"
#include "fabric/pieces.h"
#include "fabric/region.h"
#include "fabric/traffic.h"

namespace duet {

class OneSided : public Sender {
 public:
  // `here`: where data come from (writes) or go to (reads); `there`: the same of the peers. All
  // must outlive it.
  OneSided(Traffic& traffic, RailSet& rails, const FabricLoad& load, const Region& here,
           const Region& there, std::function<double()> now);

  // Opens the first messages; each that ends opens the next. Or, by whoever knows an order of their
  // own, each message once.
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
  struct Part {
    std::uint64_t message = 0;
    MessagePiece piece;
  };
  struct Progress {
    double begin = 0;
    std::size_t pieces = 0;  // not ended
  };

  void begin(std::size_t message, double now);
  void queue(Part part);
  int living_rail(int rail);

  Traffic& traffic_;
  RailSet& rails_;
  const FabricLoad& load_;
  const Region& here_;
  const Region& there_;
  std::function<double()> now_;
  MessageCuts cuts_;         // for the rails that were living at first
  std::vector<Part> parts_;  // by token
  std::vector<std::uint64_t> free_;
  std::vector<Progress> progress_;  // by message
  std::size_t replaced_ = 0;
  std::size_t next_ = 0;  // to open when one ends
  bool started_ = false;
  std::vector<std::size_t> ends_;
  std::vector<double> latencies_;
};

}  // namespace duet
