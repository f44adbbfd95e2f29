// A rail whose data take a detour, since its library does not reach their memory: what staged_rail
// and ipc_rail have in common. Memory that the CPU follows goes straight.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric/detour/copy_queue.h"
#include "fabric/detour/rail_words.h"
#include "fabric/rail.h"

namespace duet {

class DetourRail : public Rail {
 public:
  // Of process `self`. `device`: of the memory; must outlive it.
  DetourRail(std::unique_ptr<Rail> rail, Device& device, int self);
  // The library's rail goes first: what is registered may be in use by it.
  ~DetourRail() override { rail_.reset(); }

  const RailInfo& info() const override { return rail_->info(); }
  std::string endpoint() const override { return rail_->endpoint(); }
  void connect(int peer, const std::string& endpoint) override;
  std::unique_ptr<RailMemory> register_memory(const Span& span) override;
  std::shared_ptr<const RemoteMemory> reach(int peer, const std::string& said) override;
  bool post(const RailPost& post) override;
  std::string remark() const override { return rail_->remark(); }
  void abandon() noexcept override { rail_->abandon(); }
  void poll(std::vector<RailEvent>& events) override;

 protected:
  // Registered memory, known to peers by its number.
  struct Place : RailMemory {
    std::string said() const override { return text; }

    std::string text;
    std::unique_ptr<RailMemory> straight;  // null: takes the detour
    Span span;
    std::uint64_t number = 0;
  };
  static const Place& place_of(const RailPost& post) {
    return *static_cast<const Place*>(post.memory);
  }

  virtual std::unique_ptr<Place> open_place(const Span& span) = 0;
  virtual std::shared_ptr<const RemoteMemory> reach_place(int peer, const std::string& said) = 0;
  // What a post of memory that takes the detour begins with; it ends with end().
  virtual void begin(std::uint64_t operation) = 0;
  // What pass_on() gave to the library's rail has ended.
  virtual void passed(std::uint64_t operation) = 0;
  virtual void heard(int peer, const RailWord& word) = 0;

  Rail& straight() { return *rail_; }
  Device& device() { return device_; }
  // Of the device's memory out to peers, and in from them.
  CopyQueue& out() { return out_; }
  CopyQueue& in() { return in_; }
  void send(int peer, const RailWord& word) { words_.send(peer, word); }
  const RailPost& operation(std::uint64_t operation) const { return operations_.at(operation); }
  // To the library's rail; `post` must not be of memory that takes the detour.
  void pass_on(std::uint64_t operation, const RailPost& post);
  void end(std::uint64_t operation);
  void tell_arrival(std::uint32_t immediate);

 private:
  void post_passed();
  void take(const RailEvent& event, std::vector<RailEvent>& events);

  Device& device_;
  std::unique_ptr<Rail> rail_;
  RailWords words_;
  CopyQueue out_, in_;
  std::vector<RailPost> operations_;
  std::vector<std::uint64_t> free_;
  // For the library's rail; what it does not take must not hold up receives, nor they it.
  std::deque<RailPost> receives_, others_;
  std::vector<RailEvent> straight_;  // its events
  std::vector<RailEvent> ended_;     // this rail's own
};

}  // namespace duet
