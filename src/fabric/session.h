// The rails of all processes of a run, opened and connected to each other.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/detour/staged_rail.h"
#include "fabric/greeting.h"
#include "fabric/operation.h"
#include "fabric/rail_set.h"
#include "fabric/traffic.h"
#include "team/processes.h"

namespace duet {

struct FabricSettings {
  std::string provider = "tcp;ofi_rxm";
  std::string rails;     // as select_rails() takes them
  double link_gbit = 0;  // of one rail, one direction; 0: as the link says
  double stall_seconds = 10;
  bool failover = false;
};

class FabricSession {
 public:
  // Chooses the rails; opens none. All processes make one, and from then on the same calls.
  // `device`: the nearest to it come first. Throws UsageError where a process has other rails than
  // can be meant, and Unavailable where there is no fabric library.
  FabricSession(Processes& processes, const FabricSettings& settings, const DeviceInfo& device);
  ~FabricSession();

  Processes& processes() { return processes_; }
  const FabricSettings& settings() const { return settings_; }
  std::vector<int> peers() const;  // the other processes
  // What this process may poll on alone, as choose_core() says.
  std::optional<int> core() const { return core_; }

  // Opens and connects what is not lost, for messages in such memory of the device; nothing to do
  // where that is so already. The device must outlive the session. Throws Error, Unavailable where
  // the path leads to no such memory.
  void open(Device& device, MemoryKind memory, MemoryPath path);
  // What was under way reaches this process's memory no more. Rails that were lost stay so.
  void close() noexcept;
  // The same after a failure, when peers may still be moving data.
  void abandon() noexcept;

  RailSet& rails() { return *rails_; }
  Traffic& traffic() { return *traffic_; }
  Greeting& greeting() { return *greeting_; }
  // Counts from the opening, in all processes alike.
  std::uint64_t next_greeting() { return ++greetings_; }

  int rail_count() const { return static_cast<int>(infos_.size()); }
  const std::vector<RailInfo>& infos() const { return infos_; }
  // Of all rails of a mode, one direction; 0: unknown.
  double link_gbit(RailMode mode) const;

  // Which rails this process lost, and taking over what another's losses() said. Throws Timeout
  // where none is left.
  std::string losses() const;
  void agree(const std::string& losses);
  // Throws Error naming a rail that the mode needs, has lost, and may not replace.
  void require(RailMode mode) const;
  // Every loss since the session began, in words.
  std::vector<std::string> lost_in_words() const;

 private:
  // What open() opens rails for.
  struct Use {
    Device* device = nullptr;
    MemoryPath path = MemoryPath::direct;
    bool gpu_memory = false;  // the library is to reach it

    bool operator==(const Use& other) const {
      return device == other.device && path == other.path && gpu_memory == other.gpu_memory;
    }
  };

  std::unique_ptr<Rail> open_rail(const RailInfo& info, const Use& use,
                                  const std::shared_ptr<Mirrors>& mirrors) const;
  void share_losses();
  void add_losses(const std::string& packed);
  void exchange_endpoints();
  void remember_losses() noexcept;

  Processes& processes_;
  FabricSettings settings_;
  std::vector<RailInfo> infos_;
  std::optional<int> core_;
  std::map<int, std::string> lost_;  // by rail, in words
  Use use_;
  std::unique_ptr<RailSet> rails_;  // null: closed
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<Greeting> greeting_;
  std::uint64_t greetings_ = 0;
};

}  // namespace duet
