#include "nccl_shim/protocol/buffers_fixture.h"

#include <atomic>
#include <cstring>

#include "nccl_shim/protocol/pair_copies.h"

namespace duet::nccl_shim::testing {
namespace {

// Whether a rank sends something else to each rank.
bool has_part_for_each(Kind kind) {
  return kind == Kind::all_to_all || kind == Kind::reduce_scatter;
}

// What rank `source` sends to `destination` in call `number`, at element `index`.
std::uint32_t element(Kind kind, int source, int destination, int number, std::size_t index) {
  const int to = has_part_for_each(kind) ? destination : 0;
  return static_cast<std::uint32_t>(source * 1000003 + to * 10007 + number * 101) +
         static_cast<std::uint32_t>(index);
}

}  // namespace

Buffers::Buffers(TestRank& rank, Kind kind, std::size_t count, bool lendable)
    : rank_(rank), kind_(kind), count_(count), lendable_(lendable) {
  const std::size_t all = count * static_cast<std::size_t>(rank.ranks);
  send_ = make(has_part_for_each(kind) ? all : count);
  receive_ = make(received_parts() * count);
}

Buffers::~Buffers() {
  if (!lendable_) return;
  rank_.device.free(send_);
  rank_.device.free(receive_);
}

void Buffers::fill(int number) const {
  const int destinations = has_part_for_each(kind_) ? rank_.ranks : 1;
  for (int to = 0; to < destinations; ++to) {
    for (std::size_t i = 0; i < count_; ++i) {
      send_[static_cast<std::size_t>(to) * count_ + i] = element(kind_, rank_.rank, to, number, i);
    }
  }
  std::memset(receive_, 0xee, count_ * 4 * received_parts());
}

std::size_t Buffers::wrong(int number, int root) const {
  std::size_t count = 0;
  for (std::size_t from = 0; from < received_parts(); ++from) {
    const int source = kind_ == Kind::broadcast ? root : static_cast<int>(from);
    for (std::size_t i = 0; i < count_; ++i) {
      count += receive_[from * count_ + i] != expected(source, number, i);
    }
  }
  return count;
}

std::size_t Buffers::received_parts() const {
  const bool from_all = kind_ == Kind::all_gather || kind_ == Kind::all_to_all;
  return from_all ? static_cast<std::size_t>(rank_.ranks) : 1;
}

std::uint32_t Buffers::expected(int source, int number, std::size_t index) const {
  if (!reduces(kind_)) return element(kind_, source, rank_.rank, number, index);
  std::uint32_t sum = 0;
  for (int each = 0; each < rank_.ranks; ++each) {
    sum += element(kind_, each, rank_.rank, number, index);
  }
  return sum;
}

std::uint32_t* Buffers::make(std::size_t count) {
  if (lendable_) return static_cast<std::uint32_t*>(rank_.device.allocate(count * 4));
  own_.emplace_back(count);
  return own_.back().data();
}

std::size_t wrong_of_many(TestRank& rank, const Buffers& buffers, int calls) {
  std::atomic<std::size_t> wrong{0};
  for (int number = 0; number < calls; ++number) {
    rank.pause();
    const int root = number % rank.ranks;
    rank.run(rank.stream(), [&buffers, number] { buffers.fill(number); });
    rank.copies->enqueue(buffers.call(root), rank.stream());
    rank.run(rank.stream(),
             [&buffers, &wrong, number, root] { wrong += buffers.wrong(number, root); });
  }
  rank.synchronise();
  return wrong;
}

}  // namespace duet::nccl_shim::testing
