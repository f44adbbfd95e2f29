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

  // Opens the first messages; each that ends opens the next.
  void start();
  bool done() const { return ended_ == load_.messages.size(); }
  // Of each message, from its first post to the end of its last piece, in the order of their ends.
  const std::vector<double>& latencies() const { return latencies_; }

  void ended(std::uint64_t token) override;
  bool lost(int rail, const std::vector<std::uint64_t>& tokens) override;

 private:
  struct Part {
    std::uint64_t message = 0;
    MessagePiece piece;
  };
  struct Open {
    double begin = 0;
    std::size_t pieces = 0;  // not ended
  };

  void open_next();
  void queue(Part part);
  int living_rail(int rail);

  Traffic& traffic_;
  RailSet& rails_;
  const FabricLoad& load_;
  const Region& here_;
  const Region& there_;
  std::function<double()> now_;
  std::vector<std::vector<MessagePiece>> pieces_;  // by message, as all rails were living
  std::vector<Part> parts_;                        // by token
  std::vector<std::uint64_t> free_;
  std::vector<Open> open_;  // by message
  std::size_t replaced_ = 0;
  std::size_t opened_ = 0, ended_ = 0;
  std::vector<double> latencies_;
};

}  // namespace duet
