// A rail is a NIC, a network interface or shared memory, with an endpoint of its own. libfabric/
// implements the interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/buffer.h"

namespace duet {

struct RailInfo {
  std::string name;       // "eth0", "rdmap79s0", "shm"
  std::string address;    // as text: "10.0.0.1"; "" if there is none
  double gbit_per_s = 0;  // of the link, one direction; 0: unknown
  int numa_node = -1;     // of the NIC; -1: unknown
  int pci_hops = -1;      // from the device that sends, over PCIe; -1: unknown
};

// What a peer must know to write to or read from registered memory.
struct RemoteMemory {
  std::uint64_t base = 0;  // the address of its first byte, as the rail counts
  std::uint64_t key = 0;
  std::uint64_t number = 0;  // of the registration in its process; 0 where the rail does not use it
};

// Registration of memory with a rail. Must outlive the rail's operations on the memory.
class RailMemory {
 public:
  virtual ~RailMemory() = default;
  // What a peer's Rail::import_memory() needs; any bytes.
  virtual std::string descriptor() const = 0;
  // How the library reaches the memory: "FI_HMEM_CUDA by dmabuf"; "" for the CPU's memory.
  virtual std::string how() const { return ""; }
};

enum class RailCall { send, receive, write, write_imm, read };

struct RailPost {
  RailCall call = RailCall::write;
  int peer = 0;  // as connect() named it; of receive: from this one
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  const RailMemory* memory = nullptr;  // of `data`, registered with this rail
  std::uint64_t tag = 0;               // send, receive: a send matches the receive of equal tag
  std::uint32_t immediate = 0;         // write_imm: reported to the peer when the data have arrived
  std::uint64_t remote_offset = 0;     // write, write_imm, read: from the base of `remote`
  RemoteMemory remote;
  std::uint64_t id = 0;  // comes back with the completion
};

struct RailEvent {
  bool arrived = false;  // a peer's write_imm, with `immediate`; else the end of the post `id`
  std::uint64_t id = 0;
  std::uint32_t immediate = 0;
  std::string error;  // "" if the operation succeeded
};

// Used by one thread at a time. Progress is manual: neither this process's posts nor peers' writes
// to it move unless poll() is called. After destruction no memory is touched.
class Rail {
 public:
  virtual ~Rail() = default;
  virtual const RailInfo& info() const = 0;
  // What connect() takes at the other end.
  virtual std::string endpoint() const = 0;
  // Makes `peer` reachable; a connection, if the provider needs one, is made by the first post.
  // Throws Error.
  virtual void connect(int peer, const std::string& endpoint) = 0;
  // A span without owner is CPU memory. Throws Error with the library's reason.
  virtual std::unique_ptr<RailMemory> register_memory(const Span& span) = 0;
  // A peer's memory by its descriptor(); posts may use it while the result lives. Throws Error.
  virtual std::shared_ptr<const RemoteMemory> import_memory(int peer,
                                                            const std::string& descriptor) = 0;

  // A sentence that names the operations that the NIC does not execute itself; "" if there are
  // none.
  virtual std::string remark() const { return ""; }

  // False: the rail is full, call poll() first. When a write has ended, its data are in the peer's
  // memory; when a send has ended, its buffer is free. Throws Error.
  virtual bool post(const RailPost& post) = 0;
  // To be called before the rail is destroyed while peers may still be moving data over it.
  virtual void abandon() noexcept {}

  // Replaces `events` by the operations that have ended; there may be none. Throws Error if the
  // rail is lost.
  virtual void poll(std::vector<RailEvent>& events) = 0;
};

}  // namespace duet
