#include "fabric/region.h"

#include "core/error.h"
#include "core/packing.h"

namespace duet {

Region::Region(RailSet& rails, const Span& span, int self)
    : rails_(rails), span_(span), self_(self) {
  for (int rail = 0; rail < rails.size(); ++rail) {
    const bool usable = rails.living(rail) && span.bytes > 0;
    memory_.push_back(usable ? rails.at(rail).register_memory(span) : nullptr);
  }
}

std::string Region::descriptors() const {
  std::vector<std::string> descriptors;
  for (const auto& memory : memory_)
    descriptors.push_back(memory != nullptr ? memory->descriptor() : "");
  return pack(descriptors);
}

std::string Region::how() const {
  for (const auto& memory : memory_) {
    if (memory != nullptr) return memory->how();
  }
  return "";
}

void Region::import_all(const std::vector<std::string>& all) {
  remote_.clear();
  for (const std::string& text : all) {
    const int peer = static_cast<int>(remote_.size());
    const std::vector<std::string> descriptors = unpack(text);
    if (descriptors.size() != memory_.size()) throw Error("processes have other numbers of rails");
    auto& rails = remote_.emplace_back();
    for (int rail = 0; rail < rails_.size(); ++rail) {
      const std::string& descriptor = descriptors[static_cast<std::size_t>(rail)];
      const bool imported = peer != self_ && rails_.living(rail) && !descriptor.empty();
      rails.push_back(imported ? rails_.at(rail).import_memory(peer, descriptor) : nullptr);
    }
  }
}

}  // namespace duet
