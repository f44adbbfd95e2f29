#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "fabric/bounce/control_channel.h"
#include "fabric/rail.h"

namespace duet {

// Asynchronous copies on one stream of a device. Each is followed by a callback when it has ended.
class CopyQueue {
 public:
  // The device must outlive it.
  explicit CopyQueue(Device& device) : device_(device), stream_(device.make_stream()) {}
  // Waits for the copies in flight, so that their memory may be freed; makes no callbacks.
  ~CopyQueue();
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;

  // Enqueues a copy; progress() calls `then` when it has ended, in the order of the copies.
  void start(const Span& destination, const Span& source, std::function<void()> then);
  // Makes the callbacks of the copies that have ended; true if there were any. Throws what they
  // throw.
  bool progress();

 private:
  struct PendingCopy {
    std::unique_ptr<Event> end;
    std::function<void()> then;
  };

  std::unique_ptr<Event> take_event();

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::deque<PendingCopy> in_flight_;
  std::vector<std::unique_ptr<Event>> free_events_;
};

// Base of rails for device memory that the rail's library cannot reach: wraps a rail of the
// library, which carries control messages and whatever is in host memory. How data in device memory
// move is the subclass's: through bounce buffers (StagedRail) or by copies between the devices
// (IpcRail).
//
// An operation is a post of device memory: start_operation() begins it, finish() reports its end to
// the caller of poll(). All work is done inside post() and poll(), by their thread.
class IndirectRail : public Rail {
 public:
  // Of process `self`. `device`: the memory's; must outlive the rail.
  IndirectRail(std::unique_ptr<Rail> rail, Device& device, int self);
  // The library's rail is closed first, since it may use registered memory until then.
  ~IndirectRail() override { rail_.reset(); }

  const RailInfo& info() const override { return rail_->info(); }
  std::string endpoint() const override { return rail_->endpoint(); }
  void connect(int peer, const std::string& endpoint) override;
  std::unique_ptr<RailMemory> register_memory(const Span& span) override;
  std::shared_ptr<const RemoteMemory> import_memory(int peer,
                                                    const std::string& descriptor) override;
  bool post(const RailPost& post) override;
  std::string remark() const override { return rail_->remark(); }
  void abandon() noexcept override { rail_->abandon(); }
  void poll(std::vector<RailEvent>& events) override;

 protected:
  struct RegisteredMemory : RailMemory {
    std::string descriptor() const override { return text; }

    std::string text;
    std::unique_ptr<RailMemory> library;  // the library's registration; null: device memory
    Span span;
    std::uint64_t number = 0;  // by which control messages name it
  };
  static const RegisteredMemory& memory_of(const RailPost& post) {
    return *static_cast<const RegisteredMemory*>(post.memory);
  }

  virtual std::unique_ptr<RegisteredMemory> register_device_memory(const Span& span) = 0;
  virtual std::shared_ptr<const RemoteMemory> import_device_memory(
      int peer, const std::string& descriptor) = 0;
  // Begins the operation; the subclass calls finish() once when it has ended.
  virtual void start_operation(std::uint64_t operation) = 0;
  // The post that forward() gave to the library's rail has ended.
  virtual void forwarded_ended(std::uint64_t operation) = 0;
  virtual void control_received(int peer, const ControlMessage& message) = 0;

  Rail& library_rail() { return *rail_; }
  Device& device() { return device_; }
  // Copies out of the device's memory towards peers, and into it.
  CopyQueue& copies_out() { return copies_out_; }
  CopyQueue& copies_in() { return copies_in_; }
  void send_control(int peer, const ControlMessage& message) { control_.send(peer, message); }
  const RailPost& operation(std::uint64_t operation) const { return operations_.at(operation); }
  // Posts to the library's rail; `post.memory` must be registered with that rail.
  void forward(std::uint64_t operation, const RailPost& post);
  void finish(std::uint64_t operation);
  // Reports a peer's write_imm to the caller of poll().
  void report_arrival(std::uint32_t immediate);

 private:
  void post_waiting();
  void handle_library_event(const RailEvent& event, std::vector<RailEvent>& events);

  Device& device_;
  std::unique_ptr<Rail> rail_;
  ControlChannel control_;
  CopyQueue copies_out_, copies_in_;
  std::vector<RailPost> operations_;
  std::vector<std::uint64_t> free_operations_;
  // Posts that wait for the library's rail. Receives have a queue of their own: the rail may refuse
  // one kind of post while it takes the other.
  std::deque<RailPost> waiting_receives_, waiting_others_;
  std::vector<RailEvent> library_events_;
  std::vector<RailEvent> own_events_;  // of operations that have ended since the last poll()
};

}  // namespace duet
