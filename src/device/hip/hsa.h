// ROCr, the runtime under HIP's, opened at run time. Only what Duet uses is declared, after ROCr's
// hsa.h and hsa_ext_amd.h, for ROCm 6 and 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace duet::hip {

class Hsa {
 public:
  using Status = int;  // hsa_status_t
  static constexpr Status kSuccess = 0;
  static constexpr Status kOutOfResources = 0x1008;  // HSA_STATUS_ERROR_OUT_OF_RESOURCES

  // hsa_agent_t: a GPU, or CPUs with their memory.
  struct Agent {
    std::uint64_t handle = 0;
    bool operator==(const Agent& other) const { return handle == other.handle; }
    bool operator!=(const Agent& other) const { return handle != other.handle; }
  };
  // hsa_signal_t: a word that copies count down.
  struct Signal {
    std::uint64_t handle = 0;
  };

  // The library, opened once per process. Throws Unavailable with the reason where it cannot be
  // opened or is older than ROCm 5.7, which brought copies by a chosen engine.
  static const Hsa& instance();

  // The agent to which memory of HIP's belongs; of another process's memory, the GPU that has it.
  // owner_of() throws Unavailable if ROCr does not know it, find_owner() returns the handle 0.
  Agent owner_of(const void* data) const;
  Agent find_owner(const void* data) const;
  bool is_gpu(Agent agent) const;

  // The engines that copy from one agent to another, a bit for each: those that the driver
  // recommends for the two, if ROCr tells (from ROCm 7 on); otherwise those that are idle
  // now, possibly none. Throws Error.
  std::uint32_t engines(Agent to, Agent from) const;

  // A signal with the value 1.
  Signal make_signal() const;
  void destroy(Signal signal) const noexcept;
  std::int64_t value(Signal signal) const { return load_(signal); }  // acquires
  void set(Signal signal, std::int64_t value) const { store_(signal, value); }

  struct EngineCopy {
    void* destination = nullptr;
    Agent to;
    const void* source = nullptr;
    Agent from;
    std::size_t bytes = 0;
    std::uint32_t engine = 0;       // one bit
    const Signal* after = nullptr;  // the copy begins when it is 0; nullptr: at once
    Signal done;                    // counted down when the bytes have arrived
  };
  // Submits a copy. Any thread may call it, also from a callback of the runtime.
  Status copy(const EngineCopy& copy) const noexcept;

  // Calls handler(value, data) once on a thread of ROCr's when the signal is 0. Throws Error.
  using Handler = bool (*)(std::int64_t value, void* data);
  void call_at_zero(Signal signal, Handler handler, void* data) const;

  // hsa_queue_t
  struct Queue {
    std::uint32_t type, features;
    void* base;
    Signal doorbell;
    std::uint32_t size, reserved;  // packets
    std::uint64_t id;
  };
  static_assert(sizeof(Queue) == 40);
  // A queue of `packets` packets, a power of two, for one thread. Throws Unavailable.
  Queue* make_queue(Agent gpu, std::uint32_t packets) const;
  // Packets that were not executed are dropped.
  void destroy(Queue* queue) const noexcept { static_cast<void>(queue_destroy_(queue)); }
  // The number of the next packet, which is then taken; how many were executed.
  std::uint64_t take_index(const Queue* queue) const { return add_write_index_(queue, 1); }
  std::uint64_t executed(const Queue* queue) const { return read_index_(queue); }

  std::string text(Status status) const;

  Hsa();  // throws Unavailable

 private:
  // hsa_amd_pointer_info_t
  struct PointerInfo {
    std::uint32_t size;
    int type;
    void *agent_base, *host_base;
    std::size_t bytes;
    void* user_data;
    Agent owner;
    std::uint32_t flags;
  };
  static_assert(sizeof(PointerInfo) == 56);

  Status (*init_)() = nullptr;
  Status (*agent_info_)(Agent, int what, void* value) = nullptr;
  Status (*status_string_)(Status, const char**) = nullptr;
  Status (*pointer_info_)(const void*, PointerInfo*, void* (*allocate)(std::size_t),
                          std::uint32_t* agents, Agent** list) = nullptr;
  Status (*idle_engines_)(Agent to, Agent from, std::uint32_t* mask) = nullptr;
  Status (*recommended_)(Agent to, Agent from, std::uint32_t* mask) = nullptr;  // nullptr: unknown
  Status (*copy_)(void*, Agent to, const void*, Agent from, std::size_t, std::uint32_t signals,
                  const Signal*, Signal done, int engine, bool force_sdma) = nullptr;
  Status (*signal_create_)(std::int64_t value, std::uint32_t agents, const Agent*,
                           Signal*) = nullptr;
  Status (*signal_destroy_)(Signal) = nullptr;
  Status (*queue_create_)(Agent, std::uint32_t size, std::uint32_t type,
                          void (*callback)(Status, Queue*, void*), void* data,
                          std::uint32_t private_bytes, std::uint32_t group_bytes,
                          Queue**) = nullptr;
  Status (*queue_destroy_)(Queue*) = nullptr;
  std::uint64_t (*add_write_index_)(const Queue*, std::uint64_t) = nullptr;
  std::uint64_t (*read_index_)(const Queue*) = nullptr;
  Status (*async_handler_)(Signal, int condition, std::int64_t value, Handler, void*) = nullptr;
  std::int64_t (*load_)(Signal) = nullptr;
  void (*store_)(Signal, std::int64_t) = nullptr;
};

}  // namespace duet::hip
