#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fabric/rail.h"

namespace duet {

class RailSet {
 public:
  // `names` are for messages; a rail that is null is lost from the start.
  RailSet(std::vector<std::unique_ptr<Rail>> rails, std::vector<std::string> names)
      : rails_(std::move(rails)), names_(std::move(names)) {}

  int size() const { return static_cast<int>(rails_.size()); }
  // Throws BadArgument for one that is lost.
  Rail& at(int rail) {
    if (!living(rail)) refuse(rail);
    return *rails_[static_cast<std::size_t>(rail)];
  }
  bool living(int rail) const { return rails_[static_cast<std::size_t>(rail)] != nullptr; }
  std::vector<int> all_living() const;

  // Closes the rail for good: its operations in flight no longer reach this process's memory.
  // Peers may still be moving data over it.
  void lose(int rail) {
    std::unique_ptr<Rail>& lost = rails_[static_cast<std::size_t>(rail)];
    if (lost != nullptr) lost->abandon();
    lost = nullptr;
  }
  // Closes all of them, when nothing is in flight.
  void close() {
    for (std::unique_ptr<Rail>& rail : rails_) rail = nullptr;
  }

  // "r2 (10.0.2.1)", of a lost one as well.
  const std::string& name(int rail) const { return names_[static_cast<std::size_t>(rail)]; }

 private:
  [[noreturn]] void refuse(int rail) const;

  std::vector<std::unique_ptr<Rail>> rails_;  // null: lost
  std::vector<std::string> names_;
};

// "r2 (10.0.2.1)", "shm".
std::string rail_name(const RailInfo& rail);

}  // namespace duet
