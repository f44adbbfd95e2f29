// The rails of a rank, and the proxy: the thread that owns them, since one thread may use a rail.
// It polls all the time, also for peers that are ahead of this rank.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collectives/nodes/failover.h"
#include "collectives/nodes/wire_numbers.h"
#include "fabric/operation.h"
#include "fabric/rail_set.h"
#include "fabric/traffic.h"
#include "team/nodes.h"

namespace duet {

// What a wire has the proxy do. All calls come on the proxy's thread.
class WireDriver {
 public:
  virtual ~WireDriver() = default;
  // One non-blocking step; whether it found anything to do.
  virtual bool progress() = 0;
  // Whether a call is under way.
  virtual bool active() const = 0;
  // A peer's message to this wire has come; whether it has, or was of a call that has ended.
  virtual void arrived(std::uint32_t number, bool odd_call) = 0;
  virtual bool has_come(std::uint32_t number, bool odd_call) const = 0;
};

// Why the ranks of a team of several nodes cannot reach each other over rails; "" if they can. The
// same on all ranks.
std::string why_not_over_rails(Team& team, const NodeMap& map);

// Peers are the nodes: each stands for this column's rank there.
class Network {
 public:
  // Opens this local rank's share of its node's rails. Throws UsageError where there are none such,
  // Unavailable where there is no fabric library, Error of a rail. See open_networks().
  Network(Team& team, const NodeMap& map, int rank, MemoryPath path);
  // Polls on for a moment, for peers whose last messages are not yet acknowledged.
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // What other ranks connect to; and connecting rail i to rail i of the column's other ranks, by
  // the endpoints of all ranks, after which the proxy starts. Throws UsageError where another has
  // another number of rails, Error of a rail.
  std::string endpoints() const;
  void connect(const std::vector<std::string>& all);

  int node() const { return node_; }
  // How the rank's memory gets to the rails. `staged`: they carry the CPU's memory alone.
  MemoryPath path() const { return path_; }
  int rail_count() const { return static_cast<int>(infos_.size()); }  // of this rank, lost ones too
  // This rank's share of the rails that it uses, lost ones too, one direction: a rail that several
  // ranks of the node use counts once among them. 0: unknown.
  double gbit_per_s() const;
  // Runs fn on the proxy's thread, and rethrows what it throws. Not to be called by that thread.
  void run(const std::function<void()>& fn);

  // For the proxy's thread alone.
  RailSet& rails() { return *rails_; }
  Traffic& traffic() { return *traffic_; }
  void add(std::uint32_t wire, WireDriver& driver);
  void remove(std::uint32_t wire) { drivers_.erase(wire); }
  Failover& failover() { return *failover_; }

  // Ends at the first failure of any rank: the rails are closed then.
  bool well() const { return !failed_.load(std::memory_order_acquire); }
  // What this rank brings to the choice of the next wire's number; and that number, by what all
  // ranks of the column have brought. The first throws PeerFailed after a failure of any rank, the
  // second Unavailable where no number is free.
  std::string wire_numbers();
  std::uint32_t take_wire_number(const std::vector<std::string>& of_column);
  std::string description() const { return description_; }
  // Why rails were lost that others have taken over, those of which this function has not told yet.
  std::vector<std::string> take_losses();

 private:
  struct Job {
    const std::function<void()>* fn;
    std::exception_ptr error;
    bool done = false;
  };

  std::vector<RailInfo> own_share(const std::vector<RailInfo>& all) const;
  std::unique_ptr<Rail> open_rail(const std::string& provider, const RailInfo& info) const;
  void open_rails();
  void count_users(const std::vector<std::string>& all);
  void arrived(std::uint32_t immediate);
  bool has_come(std::uint32_t immediate) const;
  void drive();
  bool run_jobs();
  bool step();
  void fail(const std::string& what);
  void close();

  Team& team_;
  const NodeMap& map_;
  int rank_, node_;
  MemoryPath path_;
  std::vector<RailInfo> infos_;
  std::map<std::string, int> users_;  // by rail: ranks of this node
  std::unique_ptr<RailSet> rails_;
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<Failover> failover_;
  std::map<std::uint32_t, WireDriver*> drivers_;
  std::uint32_t next_wire_ = 0;
  std::string description_;
  int on_failure_ = 0;
  std::size_t losses_taken_ = 0;
  std::atomic<bool> failed_{false};
  bool closed_ = false;  // the proxy's

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Job*> jobs_;
  bool stop_ = false;
  std::thread proxy_;
};

// The networks of this process's ranks, by local rank. Collective among processes, outside of
// Team::each(); it throws in all or in none.
std::vector<std::unique_ptr<Network>> open_networks(Team& team, const NodeMap& map);

// Whether a session of these networks can make further plans; also where it has none.
bool all_well(const std::vector<std::unique_ptr<Network>>& networks);

}  // namespace duet
