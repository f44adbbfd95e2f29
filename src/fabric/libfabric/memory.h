#pragma once

#include <rdma/fi_domain.h>

#include <memory>

#include "fabric/libfabric/check.h"
#include "fabric/rail.h"

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

class Memory : public RailMemory {
 public:
  // Registers the span for all kinds of RailCall. Throws Error.
  Memory(std::shared_ptr<Domain> domain, const Span& span);

  std::string descriptor() const override;
  std::string how() const override { return how_; }
  // Of a peer's descriptor().
  static RemoteMemory parse(const std::string& descriptor);
  // What libfabric wants with each post of this memory.
  void* local_descriptor() const { return fi_mr_desc(region_.get()); }

 private:
  // libfabric's result.
  int register_with(const fi_mr_attr& attributes, std::uint64_t flags);
  // False where the memory cannot be registered by a dmabuf.
  bool register_dmabuf(fi_mr_attr attributes, const Span& span);

  std::shared_ptr<Domain> domain_;  // outlives the region
  Handle<fid_mr> region_;
  RemoteMemory remote_;
  std::string how_;
};

}  // namespace duet::libfabric
