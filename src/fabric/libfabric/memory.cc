// Registering memory; see memory.h.
#include "fabric/libfabric/memory.h"

namespace duet::libfabric {

Memory::Memory(std::shared_ptr<Domain> domain, std::byte* data, std::uint64_t bytes)
    : domain_(std::move(domain)) {
  constexpr std::uint64_t kAccess =
      FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  fid_mr* region = nullptr;
  DUET_FI_CHECK(
      fi_mr_reg(domain_->get(), data, bytes, kAccess, 0, domain_->next_key(), 0, &region, nullptr));
  region_.reset(region);
  remote_.base = domain_->asks(FI_MR_VIRT_ADDR) ? reinterpret_cast<std::uintptr_t>(data) : 0;
  remote_.key = fi_mr_key(region);
}

}  // namespace duet::libfabric
