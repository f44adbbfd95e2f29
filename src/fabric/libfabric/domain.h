// A rail's fabric and domain, which its endpoint and its memory share.
#pragma once

#include <rdma/fi_domain.h>

#include "fabric/libfabric/check.h"

namespace duet::libfabric {

class Domain {
 public:
  // Throws Error.
  explicit Domain(Info info);

  const fi_info& info() const { return *info_; }
  fid_domain* get() const { return domain_.get(); }
  fid_fabric* fabric() const { return fabric_.get(); }
  bool asks(int mode) const { return (info_->domain_attr->mr_mode & mode) != 0; }
  // A key that no other memory of this domain has, for providers that do not make them.
  std::uint64_t next_key() { return ++keys_; }

 private:
  Info info_;
  Handle<fid_fabric> fabric_;
  Handle<fid_domain> domain_;
  std::uint64_t keys_ = 0;
};

}  // namespace duet::libfabric
