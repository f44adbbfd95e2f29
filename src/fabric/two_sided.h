#pragma once

#include <functional>
#include <map>
#include <vector>

#include "fabric/pieces.h"
#include "fabric/region.h"
#include "fabric/traffic.h"

namespace duet {

enum class TwoSidedRole { requester, responder };

// Messages there and back: the requester sends and waits for the answer, the responder answers each
// message when all of its pieces have come.
class TwoSided : public Sender {
 public:
  // Both processes have the same load: message i is at its local offset in `out` (what this process
  // sends) and in `in` (what it receives). All must outlive it.
  TwoSided(TwoSidedRole side, Traffic& traffic, RailSet& rails, const FabricLoad& load,
           const Region& out, const Region& in, std::function<double()> now);

  // Posts receives for the first messages; must be called before the other process starts.
  void post_receives();
  // Requester only: sends the first messages; each answer opens the next.
  void start();
  bool done() const { return finished_ == load_.messages.size(); }
  // Requester only: seconds of each message, from its first post to its answer's last piece.
  const std::vector<double>& latencies() const { return latencies_; }

  void ended(std::uint64_t token) override;
  bool lost(int, const std::vector<std::uint64_t>&) override { return false; }

 private:
  struct MessageState {
    double begin = 0;
    std::size_t to_send = 0, to_receive = 0;  // pieces that have not ended
  };

  void expect(std::size_t message);
  // Sends what the window allows.
  void send_window(double now);
  void send(std::size_t message);
  void queue(std::size_t message, std::size_t index, const MessagePiece& piece, bool sends);
  void finish(std::size_t message);

  TwoSidedRole role_;
  Traffic& traffic_;
  const FabricLoad& load_;
  const Region& out_;
  const Region& in_;
  std::function<double()> now_;
  MessagePieces cuts_;
  std::vector<MessageState> states_;
  std::size_t expected_ = 0, sent_ = 0, finished_ = 0;
  std::vector<double> latencies_;
};

}  // namespace duet
