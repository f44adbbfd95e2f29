#include "device/imports.h"

#include <exception>

namespace duet {

Imports::~Imports() {
  for (auto mapping = mappings_.rbegin(); mapping != mappings_.rend(); ++mapping) {
    close(mapping->second);
  }
}

std::byte* Imports::map(const SharedMemory& shared) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [order, mapping] : mappings_) {
    if (mapping.shared.key() != shared.key()) continue;
    ++mapping.uses;
    return mapping.data + shared.offset;
  }
  std::byte* data = open_(shared);
  mappings_.emplace(made_++, Mapping{data, shared, 1});
  return data + shared.offset;
}

void Imports::unmap(const std::byte* data) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto each = mappings_.begin(); each != mappings_.end(); ++each) {
    Mapping& mapping = each->second;
    if (data < mapping.data || data >= mapping.data + mapping.shared.mapped_bytes()) continue;
    if (--mapping.uses > 0) return;
    close(mapping);
    mappings_.erase(each);
    return;
  }
}

void Imports::close(const Mapping& mapping) noexcept {
  try {
    close_(mapping.data, mapping.shared);
  } catch (const std::exception&) {
    // The device is lost, and the mapping with it.
  }
}

}  // namespace duet
