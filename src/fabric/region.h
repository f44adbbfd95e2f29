// A process's memory that all its rails may use, and the same of the others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/buffer.h"
#include "fabric/rail_set.h"

namespace duet {

class Region {
 public:
  // Registers the span with every living rail; span and rails must outlive it. Throws Error.
  Region(RailSet& rails, const Span& span);

  std::byte* data() const { return span_.data; }
  std::uint64_t bytes() const { return span_.bytes; }
  const RailMemory* memory(int rail) const { return memory_[static_cast<std::size_t>(rail)].get(); }

  // What the others need of it, and theirs, by process, as they said it.
  std::string say() const;
  void hear(const std::vector<std::string>& all);
  RemoteMemory remote(int peer, int rail) const {
    return remote_.at(static_cast<std::size_t>(peer)).at(static_cast<std::size_t>(rail));
  }

 private:
  Span span_;
  std::vector<std::unique_ptr<RailMemory>> memory_;  // by rail; null: lost
  std::vector<std::vector<RemoteMemory>> remote_;    // by process, by rail
};

}  // namespace duet
