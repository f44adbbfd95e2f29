// Memory registered with a domain.
#pragma once

#include <memory>

#include "fabric/libfabric/domain.h"
#include "fabric/rail.h"

namespace duet::libfabric {

class Memory : public RailMemory {
 public:
  // For every call of RailCall. Throws Error.
  Memory(std::shared_ptr<Domain> domain, const Span& span);

  RemoteMemory remote() const override { return remote_; }
  void* descriptor() const { return fi_mr_desc(region_.get()); }

 private:
  std::shared_ptr<Domain> domain_;  // outlives the region
  Handle<fid_mr> region_;
  RemoteMemory remote_;
};

}  // namespace duet::libfabric
