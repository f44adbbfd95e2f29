// Registering memory; see memory.h.
#include "fabric/libfabric/memory.h"

#include "core/error.h"
#include "device/device.h"

namespace duet::libfabric {
namespace {

// Whose memory it is. libfabric asks the GPU's driver itself for what its NIC needs, a dmabuf where
// there is one.
void set_owner(fi_mr_attr& attributes, const Span& span) {
  attributes.iface = FI_HMEM_SYSTEM;
  if (span.owner == nullptr || span.kind != MemoryKind::device) return;
  const DeviceInfo& info = span.owner->info();
  if (info.kind == "cuda") {
    attributes.iface = FI_HMEM_CUDA;
    attributes.device.cuda = info.ordinal;
  } else if (info.kind == "hip") {
    attributes.iface = FI_HMEM_ROCR;
  }
}

}  // namespace

Memory::Memory(std::shared_ptr<Domain> domain, const Span& span) : domain_(std::move(domain)) {
  const iovec place{span.data, span.bytes};
  fi_mr_attr attributes{};
  attributes.mr_iov = &place;
  attributes.iov_count = 1;
  attributes.access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  attributes.requested_key = domain_->next_key();
  set_owner(attributes, span);
  fid_mr* region = nullptr;
  const int result = fi_mr_regattr(domain_->get(), &attributes, 0, &region);
  if (result == -FI_ENOSYS && attributes.iface != FI_HMEM_SYSTEM) {
    throw Unavailable(span.owner->info().name +
                      ": its own memory: libfabric here is built without the GPU's runtime");
  }
  DUET_FI_CHECK(result);
  region_.reset(region);
  if (domain_->asks(FI_MR_VIRT_ADDR)) remote_.base = reinterpret_cast<std::uintptr_t>(span.data);
  remote_.key = fi_mr_key(region);
}

}  // namespace duet::libfabric
