// Registering memory with rails; see region.h.
#include "fabric/region.h"

#include <cstring>

#include "core/error.h"

namespace duet {

Region::Region(RailSet& rails, const Span& span) : span_(span) {
  for (int rail = 0; rail < rails.size(); ++rail) {
    const bool usable = rails.living(rail) && span.bytes > 0;
    memory_.push_back(usable ? rails.at(rail).register_memory(span) : nullptr);
  }
}

std::string Region::say() const {
  std::string text;
  for (const auto& memory : memory_) {
    const RemoteMemory remote = memory != nullptr ? memory->remote() : RemoteMemory{};
    text.append(reinterpret_cast<const char*>(&remote), sizeof remote);
  }
  return text;
}

void Region::hear(const std::vector<std::string>& all) {
  remote_.clear();
  for (const std::string& text : all) {
    if (text.size() != memory_.size() * sizeof(RemoteMemory)) {
      throw Error("processes have other numbers of rails");
    }
    std::vector<RemoteMemory> rails(memory_.size());
    std::memcpy(static_cast<void*>(rails.data()), text.data(), text.size());
    remote_.push_back(std::move(rails));
  }
}

}  // namespace duet
