#include "fabric/libfabric/domain.h"

namespace duet::libfabric {

Domain::Domain(Info info) : info_(std::move(info)) {
  fid_fabric* fabric = nullptr;
  DUET_FI_CHECK(fi_fabric(info_->fabric_attr, &fabric, nullptr));
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  DUET_FI_CHECK(fi_domain(fabric, info_.get(), &domain, nullptr));
  domain_.reset(domain);
}

}  // namespace duet::libfabric
