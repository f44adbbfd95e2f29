#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "fabric/bounce/indirect_rail.h"

namespace duet {

// The bounce buffers of a process, which its rails share.
class BounceBuffers {
 public:
  // The bounce buffer of a span of device memory: pinned memory of the same size, freed with the
  // last pointer to it. Throws OutOfMemory.
  std::shared_ptr<Buffer> for_span(const Span& span);

 private:
  std::map<const std::byte*, std::weak_ptr<Buffer>> buffers_;  // by the span's begin
};

// A rail through bounce buffers at both ends. Data have the same offset in a bounce buffer as in
// the memory that it belongs to.
//
//            sender or target of a read             receiver or reader
//   write    copy out, rail: write
//            write_arrived ---------------------->  copy in
//            end  <-------------------------------  write_done
//   read              <---------------------------  read_request
//            copy out, read_ready --------------->  rail: read, copy in, end
//   send     copy out, rail: send, end              rail: receive, copy in, end
class StagedRail : public IndirectRail {
 public:
  StagedRail(std::unique_ptr<Rail> rail, Device& device, int self,
             std::shared_ptr<BounceBuffers> bounce_buffers);

 private:
  struct StagedMemory;
  using StagedByNumber = std::map<std::uint64_t, const StagedMemory*>;

  // A range of device memory and the same range of its bounce buffer.
  struct StagedRange {
    Span memory, bounce;
  };

  std::unique_ptr<RegisteredMemory> register_device_memory(const Span& span) override;
  std::shared_ptr<const RemoteMemory> import_device_memory(int peer,
                                                           const std::string& descriptor) override;
  void start_operation(std::uint64_t operation) override;
  void forwarded_ended(std::uint64_t operation) override;
  void control_received(int peer, const ControlMessage& message) override;

  static StagedRange range_of(const StagedMemory& memory, std::uint64_t offset,
                              std::uint64_t bytes);
  StagedRange range_of(std::uint64_t operation) const;
  void forward_bounce(std::uint64_t operation);
  void copy_in(std::uint64_t operation);
  void send_request(std::uint64_t operation, ControlType type);
  void copy_in_for(int peer, const ControlMessage& request, const StagedRange& range);
  void copy_out_for(int peer, const ControlMessage& request, const StagedRange& range);

  std::shared_ptr<BounceBuffers> bounce_buffers_;
  // Shared with the registrations, each of which removes itself and may outlive the rail.
  std::shared_ptr<StagedByNumber> registered_ = std::make_shared<StagedByNumber>();
  std::uint64_t last_number_ = 0;
};

}  // namespace duet
