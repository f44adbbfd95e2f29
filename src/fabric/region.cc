// Registering memory with rails; see region.h.
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

std::string Region::say() const {
  std::vector<std::string> words;
  for (const auto& memory : memory_) words.push_back(memory != nullptr ? memory->said() : "");
  return pack(words);
}

std::string Region::how() const {
  for (const auto& memory : memory_) {
    if (memory != nullptr) return memory->how();
  }
  return "";
}

void Region::hear(const std::vector<std::string>& all) {
  remote_.clear();
  for (const std::string& text : all) {
    const int peer = static_cast<int>(remote_.size());
    const std::vector<std::string> words = unpack(text);
    if (words.size() != memory_.size()) throw Error("processes have other numbers of rails");
    auto& rails = remote_.emplace_back();
    for (int rail = 0; rail < rails_.size(); ++rail) {
      const std::string& said = words[static_cast<std::size_t>(rail)];
      const bool reached = peer != self_ && rails_.living(rail) && !said.empty();
      rails.push_back(reached ? rails_.at(rail).reach(peer, said) : nullptr);
    }
  }
}

}  // namespace duet
