#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fabric/bounce/staged_rail.h"
#include "fabric/operation.h"
#include "fabric/rail_set.h"
#include "fabric/region.h"
#include "fabric/traffic.h"
#include "team/processes.h"

namespace duet {

// Tells the processes of an iteration that the others poll, by a ready message over the rails.
class PeerReadiness : public Sender {
 public:
  // Of process `self`; traffic and rails must outlive it.
  PeerReadiness(Traffic& traffic, RailSet& rails, int self);

  // `number`: of the iteration, the same in all processes and never used twice. expect() posts
  // receives for these peers' ready messages; announce() sends them this process's. Both use each
  // of `rails`; one message from a peer is enough.
  void expect(std::uint64_t number, const std::vector<int>& peers, const std::vector<int>& rails);
  void announce(std::uint64_t number, const std::vector<int>& peers, const std::vector<int>& rails);
  bool complete() const { return missing_.empty(); }
  // The peers whose ready messages have not come.
  const std::set<int>& missing() const { return missing_; }

  void ended(std::uint64_t token) override;
  bool lost(int, const std::vector<std::uint64_t>&) override { return true; }

 private:
  RailPost post(RailCall call, std::uint64_t number, int peer, int rail);

  Traffic& traffic_;
  int self_;
  alignas(64) std::array<std::byte, 128> bytes_{};  // contents do not matter
  Region region_;
  std::uint64_t number_ = 0;
  std::set<int> missing_;
};

struct FabricSettings {
  std::string provider = "tcp;ofi_rxm";
  std::string rails;     // as select_rails() takes them
  double link_gbit = 0;  // of one rail, one direction; 0: RailInfo::gbit_per_s
  double stall_seconds = 10;
  bool failover = false;
};

// The rails of this process, opened and connected to those of all other processes of the run.
class FabricSession {
 public:
  // Chooses the rails, those nearest to `device` first, and opens none. Collective: all processes
  // construct a session and make the same calls. Throws UsageError where a process has no such
  // rails or another number of them, and Unavailable where there is no fabric library.
  FabricSession(Processes& processes, const FabricSettings& settings, const DeviceInfo& device);
  ~FabricSession();

  Processes& processes() { return processes_; }
  const FabricSettings& settings() const { return settings_; }
  std::vector<int> peers() const;  // the other processes
  // The core on which this process polls alone; see choose_core().
  std::optional<int> core() const { return core_; }

  // Opens and connects the rails that are not lost, for messages in this kind of the device's
  // memory. Returns at once where they are already open for it. The device must outlive the
  // session. Throws Error, and Unavailable where the path does not reach such memory.
  void open(Device& device, MemoryKind memory, MemoryPath path);
  // Afterwards no operation reaches this process's memory. Lost rails stay lost.
  void close() noexcept;
  // As close(), after a failure: peers may still be moving data.
  void abandon() noexcept;

  RailSet& rails() { return *rails_; }
  Traffic& traffic() { return *traffic_; }
  PeerReadiness& readiness() { return *readiness_; }
  // Counts iterations from open(), the same in all processes.
  std::uint64_t next_iteration() { return ++iterations_; }

  int rail_count() const { return static_cast<int>(infos_.size()); }
  const std::vector<RailInfo>& infos() const { return infos_; }
  // Of all rails of a mode, one direction; 0: unknown.
  double link_gbit(RailMode mode) const;

  // The rails that this process lost, and why, as bytes for another process's apply_losses(), which
  // closes them there too. apply_losses() throws Timeout where no rail is left.
  std::string losses() const;
  void apply_losses(const std::string& losses);
  // Throws Error naming a rail that the mode needs, has lost, and may not replace.
  void require(RailMode mode) const;
  // The reason of every loss since the session began.
  std::vector<std::string> loss_reasons() const;

 private:
  // The memory that open() opens rails for.
  struct MemoryAccess {
    Device* device = nullptr;
    MemoryPath path = MemoryPath::direct;
    bool gpu_memory = false;  // the library is to reach it

    bool operator==(const MemoryAccess& other) const {
      return device == other.device && path == other.path && gpu_memory == other.gpu_memory;
    }
  };

  std::unique_ptr<Rail> open_rail(const RailInfo& info, const MemoryAccess& access,
                                  const std::shared_ptr<BounceBuffers>& bounce_buffers) const;
  void share_losses();
  void add_losses(const std::string& packed);
  void exchange_endpoints();
  void remember_losses() noexcept;

  Processes& processes_;
  FabricSettings settings_;
  std::vector<RailInfo> infos_;
  std::optional<int> core_;
  std::map<int, std::string> lost_;  // by rail: the reason
  MemoryAccess access_;
  std::unique_ptr<RailSet> rails_;  // null: closed
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<PeerReadiness> readiness_;
  std::uint64_t iterations_ = 0;
};

}  // namespace duet
