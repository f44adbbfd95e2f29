// One way into the fabric, and what a library must bring to offer it: a NIC (or an interface, or
// shared memory) with an endpoint of its own. Knows no library; libfabric/ implements it.
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
  std::string address;    // as people write it: "10.0.0.1"; "" where there is none
  double gbit_per_s = 0;  // of the link, one direction; 0: unknown
  int numa_node = -1;     // of the NIC; -1: unknown
  int pci_hops = -1;      // from the device that sends, over PCIe; -1: unknown
};

// What a peer must know to write to or read from registered memory.
struct RemoteMemory {
  std::uint64_t base = 0;  // the address of its first byte, as the rail counts
  std::uint64_t key = 0;
  std::uint64_t number = 0;  // of the memory among its process's, where the rail speaks of it so
};

// Memory that a rail may use, until this goes; it must outlive the rail's operations on it.
class RailMemory {
 public:
  virtual ~RailMemory() = default;
  // What peers must be told of it; bytes for Rail::reach().
  virtual std::string said() const = 0;
  // How the library reaches it, in its own words: "FI_HMEM_CUDA by dmabuf"; "" of the CPU's.
  virtual std::string how() const { return ""; }
};

enum class RailCall { send, receive, write, write_imm, read };

struct RailPost {
  RailCall call = RailCall::write;
  int peer = 0;  // as connect() named it; of receive: from this one
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  const RailMemory* memory = nullptr;  // of `data`, registered with this rail
  std::uint64_t tag = 0;               // send, receive: which message meets which buffer
  std::uint32_t immediate = 0;         // write_imm: told to the peer with the data's arrival
  std::uint64_t remote_offset = 0;     // write, write_imm, read: from the base of `remote`
  RemoteMemory remote;
  std::uint64_t id = 0;  // comes back with the completion
};

struct RailEvent {
  bool arrived = false;  // a peer's write_imm, with `immediate`; else the end of the post `id`
  std::uint64_t id = 0;
  std::uint32_t immediate = 0;
  std::string error;  // "" where all went well
};

// Used by one thread at a time. Nothing moves unless somebody calls poll(), neither what this
// process posted nor what peers write to it. Gone, it touches no memory any more.
class Rail {
 public:
  virtual ~Rail() = default;
  virtual const RailInfo& info() const = 0;
  // What connect() takes at the other end.
  virtual std::string endpoint() const = 0;
  // From now on `peer` is reached, with whatever connection that takes being made by the first
  // post. Throws Error.
  virtual void connect(int peer, const std::string& endpoint) = 0;
  // Of a span without owner: the CPU's. Throws Error with the library's reason.
  virtual std::unique_ptr<RailMemory> register_memory(const Span& span) = 0;
  // A peer's memory by what it said, for posts while this is kept. Throws Error.
  virtual std::shared_ptr<const RemoteMemory> reach(int peer, const std::string& said) = 0;

  // What of its figures is not the NIC's own, in words; "" if nothing is.
  virtual std::string remark() const { return ""; }

  // False: not now, poll() first. The end of a write says that its data lie at the peer; that of a
  // send says that the buffer is free. Throws Error.
  virtual bool post(const RailPost& post) = 0;
  // To be said before the rail goes where peers may still be moving data over it.
  virtual void abandon() noexcept {}

  // Replaces `events` by what has ended, perhaps nothing. Throws Error where the rail is lost.
  virtual void poll(std::vector<RailEvent>& events) = 0;
};

}  // namespace duet
