// A wire over rails. Its semaphores are in pinned memory; the proxy reads and writes them:
//
//   sender's stream   sender's proxy                  receiver's proxy        receiver's stream
//                                                     <------ start --------- begin()
//                     <------------ "open" ---------- its region may be written
//   start, go ------> pieces of the message --------> counts pieces
//   <---------- gone  (all pieces have ended)         all have come --------> come
//   end() <---- done  (all messages have ended)
//
// Where the region is slots, more messages than there are of them, the receiver's stream signals
// `taken`, and its proxy tells the sender of the message that goes to the slot next.
//
// Every piece is a write whose immediate value has the piece's number: it is counted once, in
// whatever order pieces come. Of what a lost rail had under way a peer says what has come; the rest
// is posted again (failover.h).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/nodes/network.h"
#include "collectives/nodes/piece_cut.h"
#include "collectives/session/wire.h"

namespace duet {

class FabricWire : public Wire, private WireDriver, private Sender, private DeviceWaits {
 public:
  // Collective: every rank constructs it inside Team::each(). The network must outlive it. Throws
  // on all ranks: Error where memory cannot be registered, Unavailable where there are too many
  // pieces or plans.
  FabricWire(NodeRank& rank, const WireTraffic& traffic, Network& network, Watchdog& watchdog);
  ~FabricWire() override;
  FabricWire(const FabricWire&) = delete;
  FabricWire& operator=(const FabricWire&) = delete;

  Semaphore go(std::size_t message) const override { return word(2 + message); }
  Semaphore gone(std::size_t message) const override { return word(2 + messages_ + message); }
  Semaphore come(std::size_t message) const override { return word(2 + 2 * messages_ + message); }
  // With WireTraffic::slots: this rank's stream has taken the message that it received out of its
  // slot.
  Semaphore taken(std::size_t message) const { return word(2 + 3 * messages_ + message); }
  const Span& region() const override { return region_span_; }
  void begin(Stream& stream) override;
  void enqueue(Stream&, std::size_t) override {}  // the proxy sees `go`
  void end(Stream& stream) override;
  std::string description() const override;

 private:
  struct Piece {
    std::size_t message = 0;
    std::uint32_t number = 0;  // as the receiver counts it
    std::size_t source = 0;    // index of its source
    std::uint64_t offset = 0, bytes = 0, remote_offset = 0;
    int rail = -1;  // in flight there
  };
  struct MessageState {
    int node = 0;
    bool staged = false, tells_gone = false;
    std::size_t first = 0, pieces = 0;  // that are sent
    std::size_t arrivals = 0;           // pieces that are received
    // Of this call.
    bool queued = false;
    std::size_t to_end = 0, to_come = 0;
  };

  // What the other constructor begins with: whatever that does afterwards, the destructor undoes on
  // the proxy's thread, also where it throws.
  FabricWire(const NodeRank& rank, const WireTraffic& traffic, Network& network);
  // The column's numbers of wires, as Network::take_wire_number() takes them.
  std::vector<std::string> agree_on_pieces(NodeRank& rank, const WireTraffic& traffic);
  void plan(const WireTraffic& traffic);
  void add_pieces(const WireTraffic& traffic, const WireMessage& message);
  void register_regions(NodeRank& rank, const WireTraffic& traffic);
  Semaphore word(std::size_t index) const { return semaphore_at(words_, index); }
  // Whether a stream has signalled the word, which is then set back.
  bool take(const Semaphore& semaphore) const;
  void set(const Semaphore& semaphore, std::uint64_t value) const;

  bool progress() override;
  bool active() const override { return active_; }
  bool odd_call() const { return calls_ % 2 == 1; }
  void arrived(std::uint32_t number, bool odd_call) override;
  bool has_come(std::uint32_t number, bool odd_call) const override;
  void begin_call();
  bool queue_messages();
  void sent(std::size_t message);
  void complete(std::size_t message);
  bool tell_free_slots();
  // Of the message that this rank receives.
  int sender_of(std::size_t message) const {
    return (2 * node_ + nodes_ - states_[message].node) % nodes_;
  }
  bool may_go(std::size_t message) const;
  std::uint32_t immediate_of(const Piece& piece) const {
    return WireImmediate{wire_, piece.number, odd_call()}.value();
  }
  // Of what peers permit: that node p's region is open, and that message i's slot is free.
  std::size_t open_of(int node) const { return static_cast<std::size_t>(node); }
  std::size_t free_slot(std::size_t message) const {
    return static_cast<std::size_t>(nodes_) + message;
  }
  void permit(int peer, std::size_t permission);
  bool is_last(std::size_t message) const { return message + 1 == messages_; }
  // Behind the numbers of all pieces.
  std::size_t first_permission() const { return messages_ * cut_->most() + cut_->more_of_last(); }
  std::uint32_t immediate_of_permission(std::size_t permission) const;
  int rail_for(const Piece& piece) const;
  void piece_ended(std::size_t index);
  bool deal_pieces();
  void post(std::size_t index, int rail);
  bool end_call();
  void ended(std::uint64_t token) override;
  bool lost(int rail, const std::vector<std::uint64_t>& tokens) override;
  void release_waits() noexcept override;

  Network& network_;
  Device& device_;
  int node_, nodes_;
  std::size_t messages_;
  Buffer allocated_;  // the region, where it is the wire's own
  Span region_span_;
  std::optional<PieceCut> cut_;  // the column's
  std::uint64_t bytes_ = 0;      // that this rank sends
  std::size_t slots_ = 0;        // 0: every message has its own place in the region
  Buffer words_;                 // start, done; go, gone, come and taken of every message
  std::uint32_t wire_ = 0;
  Handshake start_, done_;

  // The proxy's.
  std::vector<MessageState> states_;  // of message i that is sent, and of the one that is received
  std::vector<int> senders_;          // nodes; others may have ended while this rank has a call
  std::vector<Piece> pieces_;         // that are sent
  std::unique_ptr<Region> region_;
  std::vector<std::unique_ptr<Region>> sources_;
  bool added_ = false;  // to the network's drivers
  bool active_ = false, done_told_ = false;
  std::uint64_t calls_ = 0;                              // that have ended
  std::vector<std::uint64_t> permitted_;                 // by permission: for how many calls
  std::vector<bool> come_;                               // by piece's number
  std::size_t unqueued_ = 0, sending_ = 0, coming_ = 0;  // messages
  std::size_t next_taken_ = 0;                           // message
  int telling_ = 0;                                      // permissions under way to peers
  std::deque<std::size_t> waiting_;                      // pieces to deal to rails
  std::optional<RailDealer> dealer_;
  std::unique_ptr<Watched> watched_;
};

}  // namespace duet
