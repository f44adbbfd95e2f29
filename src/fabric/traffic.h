#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fabric/rail_set.h"

namespace duet {

// The owner of posts; ended() is called for each that has ended.
class Sender {
 public:
  virtual ~Sender() = default;
  virtual void ended(std::uint64_t token) = 0;
  // The rail is closed; these of the sender's posts have not ended, and may be posted on other
  // rails. False: this sender cannot go on without the rail.
  virtual bool lost(int rail, const std::vector<std::uint64_t>& tokens) = 0;
};

struct TrafficOptions {
  // A rail is stalled when a watched post is queued or in flight and nothing has ended for this
  // long plus the time that its largest post takes at 100 Mbit/s.
  double stall_seconds = 10;
  bool failover = false;
  std::function<double()> now;                // seconds
  std::function<std::string(int)> peer_name;  // for messages
};

// Queues posts for a set of rails, posts them, polls for their ends, and detects stalled rails.
class Traffic {
 public:
  // The rails must outlive it.
  Traffic(RailSet& rails, TrafficOptions options);

  // progress() posts it as soon as the rail takes it. `watched`: it ends if the peer only polls, so
  // the rail is stalled if it does not end.
  void queue(int rail, const RailPost& post, Sender& sender, std::uint64_t token, bool watched);
  // As queue(), ahead of all data and however much is in flight, for the ready messages that data
  // wait for. Not watched.
  void queue_control(int rail, const RailPost& post, Sender& sender, std::uint64_t token);

  // Called with the immediate value of every write_imm of a peer.
  std::function<void(std::uint32_t)> on_arrival;

  // Posts what the rails take. Throws as progress() does.
  void post();
  // Posts and polls once; whether anything ended. Throws Timeout naming rail and peer where a rail
  // is stalled, and Error where it fails, unless failover finds other rails.
  bool progress();

  // Closes a rail that still works, since a peer has lost it. Does nothing where it is lost
  // already; throws Error as progress() does.
  void give_up(int rail, const std::string& reason);

  // The rails that were lost, and why.
  const std::map<int, std::string>& losses() const { return losses_; }

 private:
  struct PendingPost {
    RailPost post;
    Sender* sender = nullptr;
    std::uint64_t token = 0;
    bool watched = false;
    bool control = false;
    bool used = false;
  };
  struct PostQueue {
    std::deque<PendingPost> control, data;
    int in_flight = 0;  // of the data
  };
  struct RailState {
    PostQueue receives, others;      // receives end when peers send, and must not delay the rest
    std::vector<PendingPost> posts;  // by id
    std::vector<std::uint64_t> free;
    int waiting = 0;      // in both queues
    int watched = 0;      // in flight or waiting
    bool moved = false;   // something ended or began since the clock was last read
    double moved_at = 0;  // when that was noticed, seconds of `now`
    std::uint64_t largest = 0;
  };

  // If the call throws Error, the rail is lost.
  template <typename Call>
  void on_rail(int rail, Call call);
  static PostQueue& queue_for(RailState& state, const RailPost& post);
  bool post_first(int rail, RailState& state, std::deque<PendingPost>& waiting);
  void post_waiting(int rail, RailState& state);
  void handle_event(RailState& state, const RailEvent& event);
  void handle_events(RailState& state, const std::vector<RailEvent>& events);
  void drain(int rail);
  void check_stalls();
  void lose(int rail, const std::string& reason, bool stalled);
  std::string describe(int rail, const std::string& reason) const;

  RailSet& rails_;
  TrafficOptions options_;
  std::vector<RailState> rail_states_;
  std::vector<RailEvent> events_;
  std::map<int, std::string> losses_;
  int progress_calls_ = 0;
};

}  // namespace duet
