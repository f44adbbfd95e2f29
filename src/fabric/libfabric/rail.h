#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric/libfabric/memory.h"
#include "fabric/rail.h"

namespace duet::libfabric {

// A rail as a reliable datagram endpoint of libfabric with its own completion queue.
class EndpointRail : public Rail {
 public:
  // Throws Error.
  EndpointRail(RailInfo rail, Info info);
  ~EndpointRail() override;

  const RailInfo& info() const override { return rail_; }
  std::string endpoint() const override;
  void connect(int peer, const std::string& endpoint) override;
  std::unique_ptr<RailMemory> register_memory(const Span& span) override;
  std::shared_ptr<const RemoteMemory> import_memory(int peer,
                                                    const std::string& descriptor) override;
  bool post(const RailPost& post) override;
  std::string remark() const override;
  void abandon() noexcept override { abandoned_ = true; }
  void poll(std::vector<RailEvent>& events) override;

 private:
  // Of an operation until it has ended. `space` is libfabric's, which gives back the address of it:
  // it must be the first member.
  struct Context {
    fi_context2 space;
    std::uint64_t id = 0;
    bool receives = false;
  };

  void open_endpoint();
  Context* take_context(const RailPost& post);
  void give_back(Context* context);
  long start(const RailPost& post, void* context);
  long start_message(const RailPost& post, void* descriptor, void* context);
  long start_remote(const RailPost& post, void* descriptor, void* context);
  RailEvent read_error();

  // Members that libfabric uses until the endpoint is closed. The endpoint is destroyed first.
  struct Opened {
    std::shared_ptr<Domain> domain;
    std::vector<std::unique_ptr<Context>> contexts;  // all that were ever made
    Handle<fid_cq> queue;
    Handle<fid_av> addresses;
    Handle<fid_ep> endpoint;
  };

  RailInfo rail_;
  bool abandoned_ = false;
  std::unique_ptr<Opened> opened_;
  std::map<int, fi_addr_t> peers_;
  std::vector<Context*> free_;
  std::size_t receiving_ = 0;  // of those that are not free
};

}  // namespace duet::libfabric
