#include "device/imports.h"

#include <exception>

namespace duet {

Imports::~Imports() {
  for (auto mapping = mappings_.rbegin(); mapping != mappings_.rend(); ++mapping) {
    close(mapping->second);
  }
}

std::byte* Imports::map(const MemoryDescriptor& descriptor) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [order, mapping] : mappings_) {
    if (mapping.descriptor.key() != descriptor.key()) continue;
    ++mapping.uses;
    return mapping.data + descriptor.offset;
  }
  std::byte* data = open_(descriptor);
  mappings_.emplace(made_++, Mapping{data, descriptor, 1});
  return data + descriptor.offset;
}

void Imports::unmap(const std::byte* data) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto each = mappings_.begin(); each != mappings_.end(); ++each) {
    Mapping& mapping = each->second;
    if (data < mapping.data || data >= mapping.data + mapping.descriptor.mapped_bytes()) continue;
    if (--mapping.uses > 0) return;
    close(mapping);
    mappings_.erase(each);
    return;
  }
}

void Imports::close(const Mapping& mapping) noexcept {
  try {
    close_(mapping.data, mapping.descriptor);
  } catch (const std::exception&) {
    // The device is lost, and the mapping with it.
  }
}

}  // namespace duet
