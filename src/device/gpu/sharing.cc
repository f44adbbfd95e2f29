#include <fmt/format.h>

#include "core/error.h"
#include "device/gpu/machine.h"
#include "device/gpu/sharing_calls.h"

namespace duet::DUET_GPU {

Span GpuDevice::adopt(void* data, std::uint64_t bytes) {
  auto* begin = static_cast<std::byte*>(data);
  use();
  if (bytes > 0 && (!is_memory_of(ordinal_, begin) || !is_memory_of(ordinal_, begin + bytes - 1))) {
    throw BadArgument(fmt::format("adopt: expected {} bytes of {}'s memory at {}", bytes,
                                  info_.name, fmt::ptr(data)));
  }
  return {this, begin, bytes, MemoryKind::device};
}

MemoryDescriptor GpuDevice::export_memory(const Span& span) {
  machine_.require_own(span, "share");
  if (span.owner != this || span.kind != MemoryKind::device) {
    throw Unavailable(fmt::format("{}: {} memory cannot be shared between processes", info_.name,
                                  name(span.kind)));
  }
  use();
  return export_allocations(span);
}

void GpuDevice::close_export(const MemoryDescriptor& descriptor) noexcept {
  close_exports(descriptor);
}

Span GpuDevice::import_memory(const MemoryDescriptor& descriptor) {
  require_mappable(descriptor, DUET_GPU_NAME);
  return {this, imports_.map(descriptor), descriptor.bytes, MemoryKind::peer};
}

std::unique_ptr<CpuView> GpuDevice::view_own(const Span& span) {
  machine_.require_own(span, "view");
  use();
  return view_memory(ordinal_, span);
}

Dmabuf GpuDevice::export_dmabuf(const Span& span) {
  if (span.owner != this || span.kind != MemoryKind::device) {
    throw Unavailable(fmt::format("{}: {} memory has no dmabuf", info_.name, name(span.kind)));
  }
  use();
  return dmabuf_of(ordinal_, span);
}

void GpuDevice::close_import(const Span& span) noexcept { imports_.unmap(span.data); }

}  // namespace duet::DUET_GPU
