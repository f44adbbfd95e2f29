#include "runtime/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "communicator/native_streams.h"
#include "core/error.h"
#include "overlap/engines.h"

namespace duet {
namespace {

// Swallows errors and keeps the first for rethrow().
class FirstError {
 public:
  template <class Function>
  void of(const Function& function) noexcept {
    try {
      function();
    } catch (...) {
      if (first_ == nullptr) first_ = std::current_exception();
    }
  }
  explicit operator bool() const { return first_ != nullptr; }
  void rethrow() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

struct NeedsLess {
  const OverlapWork* works;
  bool operator()(std::size_t one, std::size_t other) const {
    return works[one].workgroups < works[other].workgroups;
  }
};

void require_built(const OverlapPolicy& policy) {
  if (!has_partition(policy.kind)) return;
  throw Unavailable(name(policy) + ": expected a policy without a partition of compute units");
}

}  // namespace

std::string engine_of(const OverlapPolicy& policy, const std::string& device) {
  return overlap_engine(policy, device.substr(0, device.find(':')));
}

struct Overlap::Impl {
  struct SideStream {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> done;
  };

  Impl(Device& on, const OverlapPolicy& which, int works)
      : device(on),
        kind(which.kind),
        most(static_cast<std::size_t>(std::max(works, 0))),
        natives(on),
        fork(on.make_event(EventUse::order)) {
    require_built(which);
    if (works < 1) {
      throw BadArgument(fmt::format("Overlap: expected a work or more, not {}", works));
    }
    const int priority = kind == OverlapPolicyKind::base ? 0 : device.info().priorities - 1;
    order.reserve(most);
    while (kind != OverlapPolicyKind::serial && sides.size() + 1 < most) {
      sides.push_back({device.make_stream({priority}), device.make_event(EventUse::order)});
      // A device makes an event when it is first recorded; that must not happen within a call.
      sides.back().stream->record(*sides.back().done);
      sides.back().stream->record(*fork);
    }
  }

  void check(Stream& stream) const;
  void check(Stream& stream, const OverlapWork* works, std::size_t count) const;
  void fork_from(Stream& stream, std::size_t used);
  void join(Stream& stream, std::size_t used, FirstError& error);
  void begin(Stream& stream, CollectiveCall& call);
  void end();
  void put_in_order(const OverlapWork* works, std::size_t count);
  void enqueue(Stream& stream, const OverlapWork* works, std::size_t count);

  Device& device;
  OverlapPolicyKind kind;
  std::size_t most;  // works of a call
  NativeStreams natives;
  std::unique_ptr<Event> fork;
  std::vector<SideStream> sides;
  std::vector<std::size_t> order;  // of a call's works; a member, so that calls do not allocate
  // Between begin() and end().
  Stream* begun_on = nullptr;
  CollectiveCall* begun = nullptr;
};

void Overlap::Impl::check(Stream& stream) const {
  if (&stream.device() == &device) return;
  throw BadArgument(fmt::format("expected a stream of {}, not of {}", device.info().name,
                                stream.device().info().name));
}

void Overlap::Impl::check(Stream& stream, const OverlapWork* works, std::size_t count) const {
  check(stream);
  if (count > most) {
    throw BadArgument(
        fmt::format("expected at most {} works, for which this Overlap was made", most));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (works[i].enqueue && works[i].workgroups >= 0) continue;
    throw BadArgument("a work: expected a function and 0 or more workgroups");
  }
}

void Overlap::Impl::put_in_order(const OverlapWork* works, std::size_t count) {
  const bool as_given = kind == OverlapPolicyKind::serial || kind == OverlapPolicyKind::base;
  const NeedsLess needs_less{works};
  order.clear();
  for (std::size_t i = 0; i < count; ++i) {
    // Not std::stable_sort, which allocates.
    order.insert(
        as_given ? order.end() : std::upper_bound(order.begin(), order.end(), i, needs_less), i);
  }
}

// Recorded before the first work, also with base: the others must not wait for that work.
void Overlap::Impl::fork_from(Stream& stream, std::size_t used) {
  if (used > 0) stream.record(*fork);
  for (std::size_t i = 0; i < used; ++i) sides[i].stream->wait(*fork);
}

void Overlap::Impl::join(Stream& stream, std::size_t used, FirstError& error) {
  for (std::size_t i = 0; i < used; ++i) {
    error.of([&] {
      sides[i].stream->record(*sides[i].done);
      stream.wait(*sides[i].done);
    });
  }
}

void Overlap::Impl::enqueue(Stream& stream, const OverlapWork* works, std::size_t count) {
  check(stream, works, count);
  put_in_order(works, count);
  const std::size_t used = kind == OverlapPolicyKind::serial || count == 0 ? 0 : count - 1;
  fork_from(stream, used);
  const auto largest = std::max_element(order.rbegin(), order.rend(), NeedsLess{works});
  FirstError error;
  std::size_t next = 0;
  for (const std::size_t which : order) {
    const bool own = used == 0 || which == *largest;
    Stream& chosen = own ? stream : *sides[next++].stream;
    error.of([&] { works[which].enqueue(chosen); });
  }
  join(stream, used, error);
  error.rethrow();
}

void Overlap::Impl::begin(Stream& stream, CollectiveCall& call) {
  check(stream);
  if (begun != nullptr) throw BadArgument("Overlap::begin: expected end() of the last one before");
  if (most < 2) throw BadArgument("Overlap::begin: expected an Overlap of two works or more");
  const bool serial = kind == OverlapPolicyKind::serial;
  fork_from(stream, serial ? 0 : 1);
  if (!serial && kind != OverlapPolicyKind::base) {
    FirstError error;
    error.of([&] { call.enqueue(*sides[0].stream); });
    if (error) join(stream, 1, error);
    error.rethrow();
  }
  begun_on = &stream;
  begun = &call;
}

void Overlap::Impl::end() {
  if (begun == nullptr) throw BadArgument("Overlap::end: expected a begin() before");
  CollectiveCall& call = *std::exchange(begun, nullptr);
  const bool serial = kind == OverlapPolicyKind::serial;
  FirstError error;
  if (serial) error.of([&] { call.enqueue(*begun_on); });
  if (kind == OverlapPolicyKind::base) error.of([&] { call.enqueue(*sides[0].stream); });
  join(*begun_on, serial ? 0 : 1, error);
  error.rethrow();
}

Overlap::Overlap(LocalRank& rank, const OverlapPolicy& policy, int works)
    : Overlap(rank.device(), policy, works) {}
Overlap::Overlap(Device& device, const OverlapPolicy& policy, int works)
    : impl_(std::make_unique<Impl>(device, policy, works)) {}
Overlap::Overlap(Overlap&& other) noexcept = default;
Overlap& Overlap::operator=(Overlap&& other) noexcept = default;
Overlap::~Overlap() = default;

Overlap::Impl& Overlap::impl() const {
  if (impl_ == nullptr) throw BadArgument("an Overlap that was moved to another one");
  return *impl_;
}

void Overlap::enqueue(Stream& stream, const std::vector<OverlapWork>& works) {
  impl().enqueue(stream, works.data(), works.size());
}

void Overlap::begin(Stream& stream, CollectiveCall& call) { impl().begin(stream, call); }

void Overlap::end() { impl().end(); }

void Overlap::enqueue_pair(Stream& stream, CollectiveCall& call,
                           const std::function<void(Stream&)>& compute) {
  constexpr double kAll = std::numeric_limits<double>::infinity();
  // References: std::function does not allocate for one.
  const OverlapWork pair[] = {{kAll, std::ref(compute)},
                              {0, [&call](Stream& side) { call.enqueue(side); }}};
  impl().enqueue(stream, pair, 2);
}

Stream& Overlap::wrapped(void* native_stream) { return impl().natives.wrapped(native_stream); }

}  // namespace duet
