// The variants of calls with a configuration of their own (NCCL 2.31), as the drop-in's libraries
// export them. They begin as the plain calls; a configuration that says how NCCL is to make the
// call leaves it to NCCL.
#include <cstddef>
#include <optional>
#include <utility>

#include "collectives/nccl/abi.h"
#include "nccl_shim/real_library.h"
#include "nccl_shim/take_over.h"

namespace duet::nccl_shim {
namespace {

using nccl::CallConfig;

// Whether a configuration says no more than the profiler's tag. One that NCCL would refuse, or that
// has members which are not known here, says more.
bool leaves_open(const CallConfig& config) {
  const auto is_unset = [](int value) { return value == nccl::kUndefined; };
  return config.size == sizeof config && config.magic == CallConfig{}.magic &&
         config.extensions == nullptr && is_unset(config.min_ctas) && is_unset(config.max_ctas) &&
         is_unset(config.nvls_ctas) && is_unset(config.cga_cluster_size) &&
         (config.algorithms == nullptr || *config.algorithms == '\0') &&
         (config.must_use_algorithms == 0 || config.must_use_algorithms == 1) &&
         is_unset(config.cta_policy);
}

// A program's configuration, which lives as long as its call. NCCL wants it alike on all ranks.
class GivenConfig {
 public:
  explicit GivenConfig(const CallConfig* given) : given_(given) {
    if (given != nullptr && leaves_open(*given)) kept_ = *given;
  }

  bool chooses() const { return given_ != nullptr && !kept_; }
  // What the real function gets, also behind the program's call if it chooses nothing.
  const CallConfig* get() const { return kept_ ? &*kept_ : given_; }

 private:
  const CallConfig* given_;
  std::optional<CallConfig> kept_;
};

// `forward`: a call of the real function with the configuration that it is given.
template <typename Forward>
auto with(GivenConfig config, Forward forward) {
  return [config, forward = std::move(forward)] { return forward(config.get()); };
}

template <typename Forward>
nccl::Result take_or_forward(const GivenConfig& config, nccl::Comm comm, const Call& call,
                             void* stream, const Forward& forward) {
  if (config.chooses()) {
    return forward_in_order(comm, find(comm), counted(call), stream, with(config, forward));
  }
  return take_or_forward(comm, call, stream, with(config, forward));
}

template <typename Forward>
nccl::Result take_or_forward_reduction(const GivenConfig& config, nccl::Comm comm, const Call& call,
                                       nccl::Type type, nccl::Operation operation, void* stream,
                                       const Forward& forward) {
  if (config.chooses()) {
    return forward_in_order(comm, find(comm), counted(call), stream, with(config, forward));
  }
  return take_or_forward_reduction(comm, call, type, operation, stream, with(config, forward));
}

}  // namespace
}  // namespace duet::nccl_shim

using namespace duet::nccl_shim;  // the functions below have names of C
using duet::nccl::CallConfig;
using duet::nccl::Comm;
using duet::nccl::Operation;
using duet::nccl::Type;

DUET_NCCL_WRAPPER(ncclAllGatherConfig)
(const void* send, void* receive, std::size_t count, Type type, Comm comm, void* stream,
 const CallConfig* config) {
  DUET_NCCL_REAL(ncclAllGatherConfig);
  const Call call{Kind::all_gather, send, receive, count * size_of(type), 0};
  return take_or_forward(GivenConfig(config), comm, call, stream, [=](const CallConfig* given) {
    return real(send, receive, count, type, comm, stream, given);
  });
}

DUET_NCCL_WRAPPER(ncclAlltoAllConfig)
(const void* send, void* receive, std::size_t count, Type type, Comm comm, void* stream,
 const CallConfig* config) {
  DUET_NCCL_REAL(ncclAlltoAllConfig);
  const Call call{Kind::all_to_all, send, receive, count * size_of(type), 0};
  return take_or_forward(GivenConfig(config), comm, call, stream, [=](const CallConfig* given) {
    return real(send, receive, count, type, comm, stream, given);
  });
}

DUET_NCCL_WRAPPER(ncclBroadcastConfig)
(const void* send, void* receive, std::size_t count, Type type, int root, Comm comm, void* stream,
 const CallConfig* config) {
  DUET_NCCL_REAL(ncclBroadcastConfig);
  const Call call{Kind::broadcast, send, receive, count * size_of(type), root};
  return take_or_forward(GivenConfig(config), comm, call, stream, [=](const CallConfig* given) {
    return real(send, receive, count, type, root, comm, stream, given);
  });
}

DUET_NCCL_WRAPPER(ncclAllReduceConfig)
(const void* send, void* receive, std::size_t count, Type type, Operation operation, Comm comm,
 void* stream, const CallConfig* config) {
  DUET_NCCL_REAL(ncclAllReduceConfig);
  const Call call{Kind::all_reduce, send, receive, count * size_of(type)};
  return take_or_forward_reduction(
      GivenConfig(config), comm, call, type, operation, stream, [=](const CallConfig* given) {
        return real(send, receive, count, type, operation, comm, stream, given);
      });
}

DUET_NCCL_WRAPPER(ncclReduceScatterConfig)
(const void* send, void* receive, std::size_t count, Type type, Operation operation, Comm comm,
 void* stream, const CallConfig* config) {
  DUET_NCCL_REAL(ncclReduceScatterConfig);
  const Call call{Kind::reduce_scatter, send, receive, count * size_of(type)};
  return take_or_forward_reduction(
      GivenConfig(config), comm, call, type, operation, stream, [=](const CallConfig* given) {
        return real(send, receive, count, type, operation, comm, stream, given);
      });
}

DUET_NCCL_WRAPPER(ncclReduceConfig)
(const void* send, void* receive, std::size_t count, Type type, Operation operation, int root,
 Comm comm, void* stream, const CallConfig* config) {
  DUET_NCCL_REAL(ncclReduceConfig);
  const Counted call{CountedKind::reduce, count * size_of(type)};
  return forward_in_order(comm, find(comm), call, stream, [=] {
    return real(send, receive, count, type, operation, root, comm, stream, config);
  });
}

DUET_NCCL_WRAPPER(ncclGatherConfig)
(const void* send, void* receive, std::size_t count, Type type, int root, Comm comm, void* stream,
 const CallConfig* config) {
  DUET_NCCL_REAL(ncclGatherConfig);
  const Counted call{CountedKind::gather, count * size_of(type), true};
  return forward_in_order(comm, find(comm), call, stream, [=] {
    return real(send, receive, count, type, root, comm, stream, config);
  });
}

DUET_NCCL_WRAPPER(ncclScatterConfig)
(const void* send, void* receive, std::size_t count, Type type, int root, Comm comm, void* stream,
 const CallConfig* config) {
  DUET_NCCL_REAL(ncclScatterConfig);
  const Counted call{CountedKind::scatter, count * size_of(type), true};
  return forward_in_order(comm, find(comm), call, stream, [=] {
    return real(send, receive, count, type, root, comm, stream, config);
  });
}
