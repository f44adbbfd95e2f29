#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/buffer.h"
#include "fabric/rail_set.h"

namespace duet {

// Memory of this process that is registered with all its rails, and the peers' regions, imported.
class Region {
 public:
  // Of process `self`. Registers the span with every living rail; span and rails must outlive it.
  // Throws Error.
  Region(RailSet& rails, const Span& span, int self);

  std::byte* data() const { return span_.data; }
  std::uint64_t bytes() const { return span_.bytes; }
  const RailMemory* memory(int rail) const { return memory_[static_cast<std::size_t>(rail)].get(); }

  // How the first rail's library reaches the memory, as it describes it; "" for the CPU's memory.
  std::string how() const;

  // The descriptors by which the peers' import_all() imports this region; and importing the peers'
  // regions by their descriptors, given by process. Throws Error.
  std::string descriptors() const;
  void import_all(const std::vector<std::string>& all);
  const RemoteMemory& remote(int peer, int rail) const { return *imported(peer, rail); }
  // False where the peer, or this process, had lost the rail by then.
  bool reaches(int peer, int rail) const { return imported(peer, rail) != nullptr; }

 private:
  const std::shared_ptr<const RemoteMemory>& imported(int peer, int rail) const {
    return remote_.at(static_cast<std::size_t>(peer)).at(static_cast<std::size_t>(rail));
  }

  RailSet& rails_;
  Span span_;
  int self_;
  std::vector<std::unique_ptr<RailMemory>> memory_;  // by rail; null: lost
  // By process, by rail; null: lost, or this process's own.
  std::vector<std::vector<std::shared_ptr<const RemoteMemory>>> remote_;
};

}  // namespace duet
