// What is queued and under way on a set of rails: posts it, polls for its end, and notices a rail
// on which nothing ends any more.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fabric/rail_set.h"

namespace duet {

// Who posts, and is told of ends.
class Sender {
 public:
  virtual ~Sender() = default;
  virtual void ended(std::uint64_t token) = 0;
  // The rail is closed; these of the sender's posts have not ended, and may be posted on other
  // rails. False: this sender cannot go on without the rail.
  virtual bool lost(int rail, const std::vector<std::uint64_t>& tokens) = 0;
};

struct TrafficOptions {
  // A rail is stalled when something is under way on it and nothing has ended for so long, and as
  // long again as its largest post takes at 100 Mbit/s.
  double stall_seconds = 10;
  bool failover = false;
  std::function<double()> now;                // seconds
  std::function<std::string(int)> peer_name;  // for messages
};

class Traffic {
 public:
  // The rails must outlive it.
  Traffic(RailSet& rails, TrafficOptions options);

  // Posted by turn(), as soon as the rail takes it. `watched`: must end without the peer's doing
  // anything but polling, so that a rail on which it does not is stalled.
  void queue(int rail, const RailPost& post, Sender& sender, std::uint64_t token, bool watched);
  // The same ahead of all else and however much is under way, for what the rest waits for. Not
  // watched.
  void queue_word(int rail, const RailPost& post, Sender& sender, std::uint64_t token);

  // Called with the immediate value of every write_imm of a peer.
  std::function<void(std::uint32_t)> on_arrival;

  // Posts what the rails take. Throws as turn() does.
  void post();
  // Posts and polls once; whether anything ended. Throws Timeout naming rail and peer where a rail
  // is stalled, and Error where it fails, unless failover finds other rails.
  bool turn();

  // The rails that were lost, and why in words.
  const std::map<int, std::string>& losses() const { return losses_; }

 private:
  struct Flight {
    RailPost post;
    Sender* sender = nullptr;
    std::uint64_t token = 0;
    bool watched = false;
    bool word = false;
    bool used = false;
  };
  struct Queue {
    std::deque<Flight> words, data;
    int under_way = 0;  // of the data
  };
  struct Lane {
    Queue receives, others;       // receives end when peers send, and must not hold up the rest
    std::vector<Flight> flights;  // by id
    std::vector<std::uint64_t> free;
    int waiting = 0;      // in both queues
    int watched = 0;      // under way or waiting
    bool moved = false;   // since the last look at the clock something ended, or began
    double progress = 0;  // when that was seen
    std::uint64_t largest = 0;
  };

  // Where the call throws, the rail is lost.
  template <typename Call>
  void on_rail(int rail, Call call);
  static Queue& queue_of(Lane& lane, const RailPost& post);
  bool post_first(int rail, Lane& lane, std::deque<Flight>& waiting);
  void post_waiting(int rail, Lane& lane);
  void take(Lane& lane, const RailEvent& event);
  void watch();
  void lose(int rail, const std::string& reason, bool stalled);
  std::string describe(int rail, const std::string& reason) const;

  RailSet& rails_;
  TrafficOptions options_;
  std::vector<Lane> lanes_;
  std::vector<RailEvent> events_;
  std::map<int, std::string> losses_;
  int turns_ = 0;
};

}  // namespace duet
