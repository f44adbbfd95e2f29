// Short messages between the two ends of a rail, about data that take another way.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/rail.h"

namespace duet {

struct RailWord {
  enum class Kind : std::uint32_t { arrived, settled, wanted, ready, offered, taken };
  Kind kind = Kind::arrived;
  std::uint32_t told = 0;       // arrived: is there an immediate value for the user?
  std::uint32_t immediate = 0;  // that
  std::uint32_t reserved = 0;
  std::uint64_t memory = 0;  // which of the receiver's (offered: the sender's), as its rail counts
  std::uint64_t offset = 0;  // in it
  std::uint64_t bytes = 0;
  std::uint64_t tag = 0;        // offered: which message
  std::uint64_t operation = 0;  // of who asked; comes back with the answer
};

class RailWords {
 public:
  using Heard = std::pair<int, RailWord>;  // from this peer

  // Of process `self`. The rail must outlive it, and take no posts with these ids and tags from
  // anybody else.
  RailWords(Rail& rail, int self) : rail_(rail), self_(self) {}

  // From now on the peer's words can come, and words go to it. Throws Error.
  void open(int peer);
  void send(int peer, const RailWord& word);

  // Posts what the rail takes. Throws Error.
  void turn();
  // Is the end that the rail tells of one of these messages'? Then it is taken care of.
  static bool owns(std::uint64_t id) { return (id & kIds) != 0; }
  void ended(const RailEvent& event);
  // What came since.
  std::vector<Heard> take();

 private:
  static constexpr std::uint64_t kIds = 1ull << 62;
  static constexpr std::uint64_t kTag = 1ull << 61;  // and the sender's number: not all rails ask
                                                     // from whom a message is

  struct Slot {
    bool receives = false;
    int peer = 0;
  };
  // Places for words, registered together.
  struct Block {
    std::vector<RailWord> words;
    std::unique_ptr<RailMemory> memory;
  };

  std::size_t add_block();  // of its first place
  RailPost post(std::size_t place);
  RailWord& word_at(std::size_t place);

  Rail& rail_;
  int self_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Slot> slots_;  // by place
  std::vector<std::size_t> free_;
  std::deque<std::size_t> receives_, sends_;  // places not posted yet
  std::vector<Heard> heard_;
};

}  // namespace duet
