// Messages, and what a user's kernels do with them, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nccl_shim/protocol/message_copies.h"
#include "nccl_shim/protocol/ranks_fixture.h"

namespace duet::nccl_shim::testing {

constexpr std::size_t kWords = 700;

// The buffer of one side of a message.
class Side {
 public:
  // Not `lendable`: memory that the device does not know.
  Side(TestRank& rank, Message::What what, int peer, bool lendable = true,
       std::size_t words = kWords)
      : rank_(rank), what_(what), peer_(peer), words_(words) {
    if (lendable) {
      data_ = static_cast<std::uint32_t*>(rank.device.allocate(4 * words));
    } else {
      own_.resize(words);
      data_ = own_.data();
    }
  }
  ~Side() {
    if (own_.empty()) rank_.device.free(data_);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  Message message() const { return {what_, peer_, data_, 4 * words_}; }

  // What message `number` holds, or what no message holds where it is to be received: if that comes
  // behind the message, it is seen.
  void fill(int number) const {
    for (std::size_t i = 0; i < words_; ++i) {
      data_[i] = what_ == Message::What::send ? expected(number, i) : 0xffffffffu;
    }
  }
  std::size_t wrong(int number) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < words_; ++i) count += data_[i] != expected(number, i);
    return count;
  }

 private:
  std::uint32_t expected(int number, std::size_t index) const {
    const int source = what_ == Message::What::send ? rank_.rank : peer_;
    const int destination = what_ == Message::What::send ? peer_ : rank_.rank;
    return static_cast<std::uint32_t>(number * 1000003 + source * 4099 + destination * 257) +
           static_cast<std::uint32_t>(index);
  }

  TestRank& rank_;
  Message::What what_;
  int peer_;
  std::size_t words_;
  std::vector<std::uint32_t> own_;
  std::uint32_t* data_;
};

// The messages of a group.
inline void exchange_all(TestRank& rank, const std::vector<Message>& messages,
                         ShimDevice::Stream stream) {
  rank.copies->begin_messages(messages, stream);
  rank.copies->start_messages();
  rank.copies->finish_messages();
}

inline void exchange_all(TestRank& rank, const std::vector<Message>& messages) {
  exchange_all(rank, messages, rank.stream());
}

inline void send(TestRank& rank, const Side& side) {
  rank.copies->enqueue_message(side.message(), rank.stream());
}

// Sides with every other rank, in both directions, and with itself if `with_itself`.
struct Sides {
  Sides(TestRank& rank, bool lendable, bool with_itself = false) {
    for (int step = with_itself ? 0 : 1; step < rank.ranks; ++step) {
      const int peer = (rank.rank + step) % rank.ranks;
      all.push_back(std::make_unique<Side>(rank, Message::What::send, peer, lendable));
      all.push_back(std::make_unique<Side>(rank, Message::What::receive, peer, lendable));
    }
  }
  std::vector<Message> messages() const {
    std::vector<Message> list;
    for (const auto& each : all) list.push_back(each->message());
    return list;
  }
  std::vector<std::unique_ptr<Side>> all;
};

}  // namespace duet::nccl_shim::testing
