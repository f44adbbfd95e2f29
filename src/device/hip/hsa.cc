#include "device/hip/hsa.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/module.h"

namespace duet::hip {
namespace {

constexpr int kUnknownPointer = 0;  // HSA_EXT_POINTER_TYPE_UNKNOWN
constexpr int kDeviceInfo = 17;     // HSA_AGENT_INFO_DEVICE, of type hsa_device_type_t
constexpr int kGpu = 1;             // HSA_DEVICE_TYPE_GPU

}  // namespace

// The runtime is never shut down: HIP uses it until the process ends.
Hsa::Hsa() {
  const Library library({"libhsa-runtime64.so.1", "/opt/rocm/lib/libhsa-runtime64.so"});
  const auto find = [&library](const char* name, auto& function) {
    function = library.function<std::remove_reference_t<decltype(function)>>(name);
  };
  find("hsa_init", init_);
  find("hsa_agent_get_info", agent_info_);
  find("hsa_status_string", status_string_);
  find("hsa_amd_pointer_info", pointer_info_);
  find("hsa_amd_memory_copy_engine_status", idle_engines_);
  find("hsa_amd_memory_async_copy_on_engine", copy_);
  find("hsa_signal_create", signal_create_);
  find("hsa_signal_destroy", signal_destroy_);
  find("hsa_queue_create", queue_create_);
  find("hsa_queue_destroy", queue_destroy_);
  find("hsa_queue_add_write_index_screlease", add_write_index_);
  find("hsa_queue_load_read_index_scacquire", read_index_);
  find("hsa_amd_signal_async_handler", async_handler_);
  find("hsa_signal_load_scacquire", load_);
  find("hsa_signal_store_screlease", store_);
  try {
    find("hsa_amd_memory_get_preferred_copy_engine", recommended_);
  } catch (const Unavailable&) {
    recommended_ = nullptr;
  }
  if (const Status status = init_(); status != kSuccess) {
    throw Unavailable(fmt::format("hsa_init: {}", text(status)));
  }
}

const Hsa& Hsa::instance() {
  static const Hsa hsa;  // made again by the next call where it throws
  return hsa;
}

std::string Hsa::text(Status status) const {
  const char* words = nullptr;
  if (status_string_(status, &words) != kSuccess || words == nullptr) {
    return fmt::format("status {:#x}", status);
  }
  return fmt::format("{} (status {:#x})", words, status);
}

Hsa::Agent Hsa::find_owner(const void* data) const {
  PointerInfo info{};
  info.size = sizeof info;
  const Status status = pointer_info_(data, &info, nullptr, nullptr, nullptr);
  if (status != kSuccess) {
    throw Unavailable(fmt::format("hsa_amd_pointer_info: {}", text(status)));
  }
  return info.type == kUnknownPointer ? Agent{} : info.owner;
}

Hsa::Agent Hsa::owner_of(const void* data) const {
  const Agent owner = find_owner(data);
  if (owner.handle == 0) {
    throw Unavailable("ROCr does not know to whom memory of HIP's belongs");
  }
  return owner;
}

bool Hsa::is_gpu(Agent agent) const {
  int type = 0;
  return agent_info_(agent, kDeviceInfo, &type) == kSuccess && type == kGpu;
}

std::uint32_t Hsa::engines(Agent to, Agent from) const {
  std::uint32_t mask = 0;
  if (recommended_ != nullptr && recommended_(to, from, &mask) == kSuccess && mask != 0) {
    return mask;
  }
  mask = 0;
  const Status status = idle_engines_(to, from, &mask);
  if (status == kOutOfResources) return 0;
  if (status != kSuccess) {
    throw Error(fmt::format("hsa_amd_memory_copy_engine_status: {}", text(status)));
  }
  return mask;
}

Hsa::Signal Hsa::make_signal() const {
  Signal signal;
  if (const Status status = signal_create_(1, 0, nullptr, &signal); status != kSuccess) {
    throw Error(fmt::format("hsa_signal_create: {}", text(status)));
  }
  return signal;
}

void Hsa::call_at_zero(Signal signal, Handler handler, void* data) const {
  constexpr int kEqual = 0;  // HSA_SIGNAL_CONDITION_EQ
  const Status status = async_handler_(signal, kEqual, 0, handler, data);
  if (status != kSuccess) {
    throw Error(fmt::format("hsa_amd_signal_async_handler: {}", text(status)));
  }
}

Hsa::Queue* Hsa::make_queue(Agent gpu, std::uint32_t packets) const {
  constexpr std::uint32_t kSingle = 1;     // HSA_QUEUE_TYPE_SINGLE: one thread writes
  constexpr std::uint32_t kDefault = ~0u;  // of the memory of kernels, of which there are none
  Queue* queue = nullptr;
  const Status status =
      queue_create_(gpu, packets, kSingle, nullptr, nullptr, kDefault, kDefault, &queue);
  if (status != kSuccess) throw Unavailable(fmt::format("hsa_queue_create: {}", text(status)));
  return queue;
}

void Hsa::destroy(Signal signal) const noexcept { static_cast<void>(signal_destroy_(signal)); }

Hsa::Status Hsa::copy(const EngineCopy& copy) const noexcept {
  constexpr bool kForceSdma = true;  // otherwise copies within a GPU are a kernel's
  return copy_(copy.destination, copy.to, copy.source, copy.from, copy.bytes,
               copy.after != nullptr ? 1 : 0, copy.after, copy.done, static_cast<int>(copy.engine),
               kForceSdma);
}

}  // namespace duet::hip
