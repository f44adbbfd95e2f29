#include "nccl_shim/grouped_messages.h"

#include <map>

#include "nccl_shim/settings.h"
#include "nccl_shim/take_over.h"

namespace duet::nccl_shim {
namespace {

void make_as_messages(const std::vector<HeldMessage>& messages) {
  for (const HeldMessage& each : messages) {
    take_or_forward(each.comm, each.message, each.stream, each.forward);
  }
}

void make_held_of_one(const std::vector<HeldMessage>& messages) {
  const nccl::Comm comm = messages.front().comm;
  const ShimDevice::Stream stream = messages.front().stream;
  const std::shared_ptr<Communicator> communicator = find(comm);
  if (communicator == nullptr || communicator->aborted) return make_as_messages(messages);
  const std::optional<Call> call = as_all_to_all(messages, communicator->copies->ranks());
  if (!call || means_of(*communicator, *call, stream) == Means::nccl) {
    return make_as_messages(messages);
  }
  take_or_forward(comm, *call, stream, [messages] {
    nccl::Result result = nccl::kSuccess;
    for (const HeldMessage& each : messages) {
      if (result == nccl::kSuccess) result = each.forward();
    }
    return result;
  });
}

}  // namespace

bool is_held(const Communicator* communicator, const Message& message) {
  return communicator != nullptr && settings().all_to_all_groups && message.peer >= 0 &&
         message.peer < communicator->copies->ranks();
}

std::optional<Call> as_all_to_all(const std::vector<HeldMessage>& messages, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<char*> sent(count), received(count);
  const HeldMessage& first = messages.front();
  if (messages.size() != 2 * count) return std::nullopt;
  for (const HeldMessage& each : messages) {
    const Message& message = each.message;
    auto& buffers = message.what == Message::What::send ? sent : received;
    char*& buffer = buffers[static_cast<std::size_t>(message.peer)];
    if (buffer != nullptr || message.bytes != first.message.bytes || each.stream != first.stream) {
      return std::nullopt;
    }
    buffer = static_cast<char*>(message.buffer);
  }
  for (std::size_t rank = 0; rank < count; ++rank) {
    const std::size_t at = rank * first.message.bytes;
    if (sent[rank] == nullptr || received[rank] == nullptr) return std::nullopt;
    if (sent[rank] != sent[0] + at || received[rank] != received[0] + at) return std::nullopt;
  }
  return Call{Kind::all_to_all, sent[0], received[0], first.message.bytes};
}

void make_held(const std::vector<HeldMessage>& held) {
  std::vector<nccl::Comm> order;
  std::map<nccl::Comm, std::vector<HeldMessage>> by_communicator;
  for (const HeldMessage& each : held) {
    std::vector<HeldMessage>& of_one = by_communicator[each.comm];
    if (of_one.empty()) order.push_back(each.comm);
    of_one.push_back(each);
  }
  for (const nccl::Comm each : order) make_held_of_one(by_communicator[each]);
}

}  // namespace duet::nccl_shim
