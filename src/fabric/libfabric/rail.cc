#include "fabric/libfabric/rail.h"

#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "fabric/libfabric/check.h"
#include "fabric/libfabric/efa.h"
#include "fabric/libfabric/memory.h"

namespace duet::libfabric {
namespace {

constexpr std::size_t kMostEvents = 64;  // read from the queue at once

// Keeps something until the process ends, where a leak checker finds it.
template <typename T>
void keep_for_good(std::unique_ptr<T> thing) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<T>>;
  const std::lock_guard<std::mutex> lock(mutex);
  kept->push_back(std::move(thing));
}

constexpr const char* kFolder = "/dev/shm";  // where shm_open() keeps files

bool gone(int process) { return kill(process, 0) != 0 && errno == ESRCH; }

// Containers may share the folder, and count processes each for itself.
std::string own_prefix() {
  struct stat counted {};
  static_cast<void>(stat("/proc/self/ns/pid", &counted));
  return fmt::format("duet-{}-", counted.st_ino);
}

void remove_left_files(const std::string& prefix) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, ignored)) {
    const std::string name = entry.path().filename();
    int process = 0;
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    if (std::sscanf(name.c_str() + prefix.size(), "%d-", &process) != 1) continue;
    if (gone(process)) std::filesystem::remove(entry.path(), ignored);
  }
}

// Gives an endpoint of the provider shm, before it is enabled, a name that no other has: the name
// is that of a shared-memory file. Reason: the provider's default name is made of the process id,
// and a process that gets the id of a killed one finds its file and cannot open ("Device or
// resource busy"). Also removes files that killed processes have left under such names. Throws
// Error.
void name_shm_endpoint(fid_ep* endpoint) {
  const std::string prefix = own_prefix();
  remove_left_files(prefix);
  std::string name = fmt::format("fi_shm://{}{}-{:08x}", prefix, getpid(), std::random_device()());
  DUET_FI_CHECK(fi_setname(&endpoint->fid, name.data(), name.size() + 1));
}

}  // namespace

EndpointRail::EndpointRail(RailInfo rail, Info info)
    : rail_(std::move(rail)), opened_(std::make_unique<Opened>()) {
  opened_->domain = std::make_shared<Domain>(std::move(info));
  open_endpoint();
}

// Hazard: tcp of libfabric 1.17 crashes when an endpoint is closed while data move over it, a
// peer's writes included (waiting receives do no harm). With manual progress nothing moves unless
// polled, so such an endpoint is left open.
EndpointRail::~EndpointRail() {
  const bool idle = !abandoned_ && free_.size() + receiving_ == opened_->contexts.size();
  const auto progress = opened_->domain->info().domain_attr->data_progress;
  if (!idle && progress == FI_PROGRESS_MANUAL) keep_for_good(std::move(opened_));
}

void EndpointRail::open_endpoint() {
  fi_info* info = const_cast<fi_info*>(&opened_->domain->info());
  fi_cq_attr queue_attributes{};
  queue_attributes.format = FI_CQ_FORMAT_TAGGED;
  queue_attributes.wait_obj = FI_WAIT_NONE;
  fid_cq* queue = nullptr;
  DUET_FI_CHECK(fi_cq_open(opened_->domain->get(), &queue_attributes, &queue, nullptr));
  opened_->queue.reset(queue);
  fi_av_attr address_attributes{};
  address_attributes.type = FI_AV_TABLE;
  fid_av* addresses = nullptr;
  DUET_FI_CHECK(fi_av_open(opened_->domain->get(), &address_attributes, &addresses, nullptr));
  opened_->addresses.reset(addresses);
  fid_ep* endpoint = nullptr;
  DUET_FI_CHECK(fi_endpoint(opened_->domain->get(), info, &endpoint, nullptr));
  opened_->endpoint.reset(endpoint);
  if (rail_.name == "shm") name_shm_endpoint(endpoint);
  DUET_FI_CHECK(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV));
  DUET_FI_CHECK(fi_ep_bind(endpoint, &addresses->fid, 0));
  DUET_FI_CHECK(fi_enable(endpoint));
}

std::string EndpointRail::endpoint() const {
  std::size_t bytes = 256;
  std::string name(bytes, '\0');
  DUET_FI_CHECK(fi_getname(&opened_->endpoint->fid, name.data(), &bytes));
  name.resize(bytes);
  return name;
}

void EndpointRail::connect(int peer, const std::string& endpoint) {
  fi_addr_t address = FI_ADDR_UNSPEC;
  if (fi_av_insert(opened_->addresses.get(), endpoint.data(), 1, &address, 0, nullptr) != 1) {
    throw Error(fmt::format("{}: fi_av_insert refused the peer's address", rail_.name));
  }
  peers_[peer] = address;
}

std::unique_ptr<RailMemory> EndpointRail::register_memory(const Span& span) {
  return std::make_unique<Memory>(opened_->domain, span);
}

std::shared_ptr<const RemoteMemory> EndpointRail::import_memory(int,
                                                                const std::string& descriptor) {
  return std::make_shared<RemoteMemory>(Memory::parse(descriptor));
}

std::string EndpointRail::remark() const {
  return emulated_by_efa(opened_->domain->info(), opened_->endpoint.get());
}

EndpointRail::Context* EndpointRail::take_context(const RailPost& post) {
  if (free_.empty()) {
    opened_->contexts.push_back(std::make_unique<Context>());
    free_.push_back(opened_->contexts.back().get());
  }
  Context* context = free_.back();
  free_.pop_back();
  context->id = post.id;
  context->receives = post.call == RailCall::receive;
  if (context->receives) ++receiving_;
  return context;
}

void EndpointRail::give_back(Context* context) {
  if (context->receives) --receiving_;
  free_.push_back(context);
}

bool EndpointRail::post(const RailPost& post) {
  Context* context = take_context(post);
  const long result = start(post, context);
  if (result == 0) return true;
  give_back(context);
  if (result == -FI_EAGAIN) return false;
  throw Error(error_text(result));
}

long EndpointRail::start(const RailPost& post, void* context) {
  void* descriptor = static_cast<const Memory*>(post.memory)->local_descriptor();
  const bool message = post.call == RailCall::send || post.call == RailCall::receive;
  return message ? start_message(post, descriptor, context)
                 : start_remote(post, descriptor, context);
}

long EndpointRail::start_message(const RailPost& post, void* descriptor, void* context) {
  const fi_addr_t peer = peers_.at(post.peer);
  if (post.call == RailCall::receive) {
    return fi_trecv(opened_->endpoint.get(), post.data, post.bytes, descriptor, peer, post.tag, 0,
                    context);
  }
  return fi_tsend(opened_->endpoint.get(), post.data, post.bytes, descriptor, peer, post.tag,
                  context);
}

// Without FI_DELIVERY_COMPLETE a write may end before its data are in the peer's memory.
long EndpointRail::start_remote(const RailPost& post, void* descriptor, void* context) {
  iovec local{post.data, post.bytes};
  fi_rma_iov remote{post.remote.base + post.remote_offset, post.bytes, post.remote.key};
  fi_msg_rma message{};
  message.msg_iov = &local;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = peers_.at(post.peer);
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  message.context = context;
  message.data = post.immediate;
  if (post.call == RailCall::read)
    return fi_readmsg(opened_->endpoint.get(), &message, FI_COMPLETION);
  const std::uint64_t immediate = post.call == RailCall::write_imm ? FI_REMOTE_CQ_DATA : 0;
  return fi_writemsg(opened_->endpoint.get(), &message,
                     FI_COMPLETION | FI_DELIVERY_COMPLETE | immediate);
}

void EndpointRail::poll(std::vector<RailEvent>& events) {
  events.clear();
  fi_cq_tagged_entry entries[kMostEvents];
  const ssize_t count = fi_cq_read(opened_->queue.get(), entries, kMostEvents);
  if (count == -FI_EAGAIN) return;
  if (count == -FI_EAVAIL) {
    events.push_back(read_error());
    return;
  }
  DUET_FI_CHECK(count);
  for (ssize_t i = 0; i < count; ++i) {
    const fi_cq_tagged_entry& entry = entries[i];
    RailEvent event;
    event.arrived = (entry.flags & FI_REMOTE_CQ_DATA) != 0;
    event.immediate = static_cast<std::uint32_t>(entry.data);
    if (!event.arrived) {
      auto* context = static_cast<Context*>(entry.op_context);
      event.id = context->id;
      give_back(context);
    }
    events.push_back(std::move(event));
  }
}

RailEvent EndpointRail::read_error() {
  fi_cq_err_entry entry{};
  DUET_FI_CHECK(fi_cq_readerr(opened_->queue.get(), &entry, 0));
  RailEvent event;
  event.error = error_text(-entry.err);
  if (entry.op_context == nullptr) throw Error(event.error);
  auto* context = static_cast<Context*>(entry.op_context);
  event.id = context->id;
  give_back(context);
  return event;
}

}  // namespace duet::libfabric
