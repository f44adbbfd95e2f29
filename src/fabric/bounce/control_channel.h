#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/rail.h"

namespace duet {

enum class ControlType : std::uint32_t {
  write_arrived,  // to the target of a write: the data are in its memory or bounce buffer
  write_done,     // answer: the data have been copied in
  read_request,   // to the target of a read: copy these data to the bounce buffer
  read_ready,     // answer: the bounce buffer may be read
  send_offer,     // to the receiver of a send: the data may be copied from this memory
  send_done,      // answer: the data have been copied
};

// A short message between the two ends of an indirect rail, about data that take another path.
// Sent as it is: both ends are the same program.
struct ControlMessage {
  ControlType type = ControlType::write_arrived;
  std::uint32_t has_immediate = 0;  // write_arrived: 1 if `immediate` is reported to the user
  std::uint32_t immediate = 0;
  std::uint32_t reserved = 0;
  std::uint64_t memory = 0;  // number of the receiver's registration; send_offer: of the sender's
  std::uint64_t offset = 0;  // in that memory, bytes
  std::uint64_t bytes = 0;
  std::uint64_t tag = 0;        // send_offer: of the send
  std::uint64_t operation = 0;  // the requester's; the answer repeats it
};

// Sends and receives control messages over a rail.
class ControlChannel {
 public:
  using Received = std::pair<int, ControlMessage>;  // peer, message

  // Of process `self`. The rail must outlive the channel. Nobody else may post with ids for which
  // owns() holds, or with tags that have bit 61 set.
  ControlChannel(Rail& rail, int self) : rail_(rail), self_(self) {}

  // From now on messages are exchanged with this peer. Throws Error.
  void open(int peer);
  // Copies the message; progress() posts it.
  void send(int peer, const ControlMessage& message);

  // Posts what the rail takes. Throws Error.
  void progress();
  // Whether the completion with this id belongs to the channel. Such completions go to ended().
  static bool owns(std::uint64_t id) { return (id & kIds) != 0; }
  void ended(const RailEvent& event);
  // The messages received since the last call.
  std::vector<Received> take_received();

 private:
  static constexpr std::uint64_t kIds = 1ull << 62;
  // The low bits of a tag are the sender's number: not all rails match messages by their sender.
  static constexpr std::uint64_t kTag = 1ull << 61;

  struct MessageSlot {
    bool receives = false;
    int peer = 0;
  };
  // Memory of several slots, registered together.
  struct MessageBlock {
    std::vector<ControlMessage> messages;
    std::unique_ptr<RailMemory> memory;
  };

  // Returns the number of the block's first slot.
  std::size_t add_block();
  RailPost post(std::size_t slot);
  ControlMessage& message_at(std::size_t slot);

  Rail& rail_;
  int self_;
  std::vector<std::unique_ptr<MessageBlock>> blocks_;
  std::vector<MessageSlot> slots_;
  std::vector<std::size_t> free_slots_;
  std::deque<std::size_t> receives_, sends_;  // slots that are not posted yet
  std::vector<Received> received_;
};

}  // namespace duet
