#pragma once

#include <memory>

#include "fabric/libfabric/domain.h"
#include "fabric/rail.h"

namespace duet::libfabric {

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
