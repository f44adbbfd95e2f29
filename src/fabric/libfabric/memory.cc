#include "fabric/libfabric/memory.h"

#include "core/error.h"
#include "core/packing.h"
#include "device/device.h"
#include "fabric/libfabric/efa.h"

namespace duet::libfabric {
namespace {

// Whose memory it is.
void set_owner(fi_mr_attr& attributes, const Span& span) {
  attributes.iface = FI_HMEM_SYSTEM;
  if (span.owner == nullptr || span.kind != MemoryKind::device) return;
  const DeviceInfo& info = span.owner->info();
  if (info.gpu_runtime == GpuRuntime::cuda) {
    attributes.iface = FI_HMEM_CUDA;
    attributes.device.cuda = info.ordinal;
  } else if (info.gpu_runtime == GpuRuntime::hip) {
    attributes.iface = FI_HMEM_ROCR;
  }
}

const char* name(fi_hmem_iface iface) {
  switch (iface) {
    case FI_HMEM_CUDA:
      return "FI_HMEM_CUDA";
    case FI_HMEM_ROCR:
      return "FI_HMEM_ROCR";
    default:
      return "";
  }
}

}  // namespace

Domain::Domain(Info info) : info_(std::move(info)) {
  fid_fabric* fabric = nullptr;
  DUET_FI_CHECK(fi_fabric(info_->fabric_attr, &fabric, nullptr));
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  DUET_FI_CHECK(fi_domain(fabric, info_.get(), &domain, nullptr));
  domain_.reset(domain);
}

Memory::Memory(std::shared_ptr<Domain> domain, const Span& span) : domain_(std::move(domain)) {
  const iovec place{span.data, span.bytes};
  fi_mr_attr attributes{};
  attributes.mr_iov = &place;
  attributes.iov_count = 1;
  attributes.access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  attributes.requested_key = domain_->next_key();
  set_owner(attributes, span);
  how_ = name(attributes.iface);
  const bool gpu = attributes.iface != FI_HMEM_SYSTEM;
  if (!gpu || !register_dmabuf(attributes, span)) {
    const int result = register_with(attributes, 0);
    if (gpu && result == -FI_ENOSYS) {
      throw Unavailable(span.owner->info().name +
                        ": its own memory: libfabric here is built without the GPU's runtime");
    }
    DUET_FI_CHECK(result);
  }
  if (domain_->requires_mode(FI_MR_VIRT_ADDR))
    remote_.base = reinterpret_cast<std::uintptr_t>(span.data);
  remote_.key = fi_mr_key(region_.get());
  const std::string ways = interconnects_of_efa(domain_->info(), domain_->get(), region_.get());
  if (!ways.empty()) how_ += (how_.empty() ? "" : "; ") + ways;
}

int Memory::register_with(const fi_mr_attr& attributes, std::uint64_t flags) {
  fid_mr* region = nullptr;
  const int result = fi_mr_regattr(domain_->get(), &attributes, flags, &region);
  if (result == 0) region_.reset(region);
  return result;
}

// By a dmabuf of the GPU's driver, for which libfabric need not be built with the GPU's runtime.
bool Memory::register_dmabuf([[maybe_unused]] fi_mr_attr attributes,
                             [[maybe_unused]] const Span& span) {
#ifdef FI_MR_DMABUF
  if (FI_VERSION_LT(api_version(), FI_VERSION(1, 20))) return false;
  try {
    const Dmabuf exported = span.owner->export_dmabuf(span);
    const fi_mr_dmabuf place{exported.descriptor(), exported.offset(), span.bytes, span.data};
    attributes.dmabuf = &place;
    if (register_with(attributes, FI_MR_DMABUF) != 0) return false;
    how_ += " by dmabuf";
    return true;
  } catch (const Unavailable&) {
    return false;
  }
#else
  return false;
#endif
}

std::string Memory::descriptor() const {
  return pack({std::to_string(remote_.base), std::to_string(remote_.key)});
}

RemoteMemory Memory::parse(const std::string& descriptor) {
  const std::vector<std::string> items = unpack(descriptor);
  RemoteMemory remote;
  remote.base = std::stoull(items.at(0));
  remote.key = std::stoull(items.at(1));
  return remote;
}

}  // namespace duet::libfabric
