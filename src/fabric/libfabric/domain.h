#pragma once

#include <rdma/fi_domain.h>

#include "fabric/libfabric/check.h"

namespace duet::libfabric {

// A rail's libfabric fabric and domain, shared by its endpoint and its registered memory.
class Domain {
 public:
  // Throws Error.
  explicit Domain(Info info);

  const fi_info& info() const { return *info_; }
  fid_domain* get() const { return domain_.get(); }
  fid_fabric* fabric() const { return fabric_.get(); }
  // Whether the provider requires this FI_MR_ mode.
  bool requires_mode(int mode) const { return (info_->domain_attr->mr_mode & mode) != 0; }
  // A key that is unique in this domain, for providers that do not choose keys.
  std::uint64_t next_key() { return ++keys_; }

 private:
  Info info_;
  Handle<fid_fabric> fabric_;
  Handle<fid_domain> domain_;
  std::uint64_t keys_ = 0;
};

}  // namespace duet::libfabric
