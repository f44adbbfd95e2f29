// Messages there and back: one side sends and waits for the answer, the other answers a message
// when it is there as a whole.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "fabric/load.h"
#include "fabric/pieces.h"
#include "fabric/region.h"
#include "fabric/traffic.h"

namespace duet {

class TwoSided : public Sender {
 public:
  enum class Side { asks, answers };

  // Both sides have the same load: message i lies at its local offset in `out` (what this side
  // sends) and in `in` (what it receives). All must outlive it.
  TwoSided(Side side, Traffic& traffic, RailSet& rails, const FabricLoad& load, const Region& out,
           const Region& in, std::function<double()> now);

  // Before the other side starts: buffers for the first messages to come.
  void post_receives();
  // Of the side that asks: sends the first messages; each answer opens the next.
  void start();
  bool done() const { return ended_ == load_.messages.size(); }
  // Of the side that asks: of each message, from its first post to its answer's last piece.
  const std::vector<double>& latencies() const { return latencies_; }

  void ended(std::uint64_t token) override;
  bool lost(int, const std::vector<std::uint64_t>&) override { return false; }

 private:
  struct State {
    double begin = 0;
    std::size_t to_send = 0, to_receive = 0;  // pieces that have not ended
  };

  void expect(std::size_t message);
  // Sends what the window allows, at that time.
  void ask(double now);
  void send(std::size_t message);
  void queue(std::size_t message, std::size_t index, const MessagePiece& piece, bool sends);
  void finish(std::size_t message);

  Side side_;
  Traffic& traffic_;
  const FabricLoad& load_;
  const Region& out_;
  const Region& in_;
  std::function<double()> now_;
  MessageCuts cuts_;
  std::vector<State> states_;
  std::size_t expected_ = 0, sent_ = 0, ended_ = 0;
  std::vector<double> latencies_;
};

}  // namespace duet
