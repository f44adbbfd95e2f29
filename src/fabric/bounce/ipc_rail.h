#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "fabric/bounce/indirect_rail.h"

namespace duet {

// A rail between processes of one machine for memory of their GPUs: each process imports the
// other's memory, copy engines move the data, and the library's rail carries control messages only.
//
//   write_imm   copy to the peer;  write_arrived -> the peer reports the immediate value
//   write, read one copy
//   send        send_offer -> the receiver copies from the sender -> send_done
class IpcRail : public IndirectRail {
 public:
  using IndirectRail::IndirectRail;

 private:
  struct ExportedMemory;
  using PeerAndTag = std::pair<int, std::uint64_t>;

  std::unique_ptr<RegisteredMemory> register_device_memory(const Span& span) override;
  // Throws Unavailable where the device cannot import it.
  std::shared_ptr<const RemoteMemory> import_device_memory(int peer,
                                                           const std::string& descriptor) override;
  void start_operation(std::uint64_t operation) override;
  void forwarded_ended(std::uint64_t) override {}
  void control_received(int peer, const ControlMessage& message) override;

  Span own_span(const RailPost& post);
  // Throws Error unless all of it lies in memory that was imported from the peer.
  Span peer_span(int peer, std::uint64_t number, std::uint64_t offset, std::uint64_t bytes);
  void write_copied(std::uint64_t operation);
  void send_offer(std::uint64_t operation);
  void copy_offered(std::uint64_t operation, const ControlMessage& offer);

  struct ImportedMemory {
    RemoteMemory memory;
    std::uint64_t bytes = 0;
  };

  std::map<std::pair<int, std::uint64_t>, ImportedMemory> imported_;  // by peer and number
  std::map<PeerAndTag, std::uint64_t> waiting_receives_;              // operations without offer
  std::map<PeerAndTag, ControlMessage> waiting_offers_;               // offers without receive
  std::uint64_t last_number_ = 0;
};

}  // namespace duet
