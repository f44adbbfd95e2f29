#include "bindings/standing_ranks.h"

#include <algorithm>
#include <utility>

namespace duet::bindings {
namespace {

// each() calls in a row that end before a rank is served. Connecting again may fail by a failure
// that comes meanwhile; where a process has died every one does.
constexpr int kMostUnserved = 3;

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& why) {
    return why.what();
  } catch (...) {
    return "an exception of another library";
  }
}

}  // namespace

StandingRanks::StandingRanks(Communicator& communicator)
    : communicator_(communicator),
      places_(static_cast<std::size_t>(communicator.local_size())),
      watch_(communicator.on_failure([this](const std::string&) {
        const std::lock_guard<std::mutex> lock(mutex_);
        failed_ = true;
        changed_.notify_all();
      })) {
  try {
    thread_ = std::thread([this] { stand(); });
  } catch (...) {
    communicator_.forget(watch_);
    throw;
  }
}

StandingRanks::~StandingRanks() {
  if (thread_.joinable()) {
    fail(communicator_.first_local(), "its communicator was not closed");
    close();
  }
  communicator_.forget(watch_);
}

void StandingRanks::close() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void StandingRanks::run(int local, const std::function<void(LocalRank&)>& work) {
  Order order;
  order.work = &work;
  std::unique_lock<std::mutex> lock(mutex_);
  if (dead_ != nullptr) std::rethrow_exception(dead_);
  Place& place = places_.at(static_cast<std::size_t>(local));
  if (std::exchange(place.failures, failures_) != failures_) throw PeerFailed(failure_);
  place.orders.push_back(&order);
  changed_.notify_all();
  changed_.wait(lock, [&] { return order.done; });
  if (order.error == nullptr) return;
  if (order.interrupted) throw Interrupted();
  std::rethrow_exception(order.error);
}

std::string StandingRanks::failure() {
  const std::string current = communicator_.failure();
  if (!current.empty()) return current;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (dead_ != nullptr) return text_of(dead_);
  const bool all_heard = std::all_of(places_.begin(), places_.end(), [&](const Place& place) {
    return place.failures == failures_;
  });
  return all_heard ? "" : failure_;
}

void StandingRanks::fail(int rank, const std::string& why) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!serving_) {
      failing_ = Failing{rank, why};
      return;
    }
  }
  communicator_.fail(rank, why);
}

void StandingRanks::interrupt() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Place& place : places_) {
      if (place.running != nullptr) place.running->interrupted = true;
      for (Order* each : place.orders) each->interrupted = true;
    }
  }
  fail(communicator_.first_local(), "interrupted");
}

std::uint64_t StandingRanks::heard(int local) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Place& place = places_.at(static_cast<std::size_t>(local));
  return place.failures + (place.told ? 1 : 0);
}

void StandingRanks::have_heard() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Place& place : places_) place.failures = failures_;
}

void StandingRanks::have_heard(const std::vector<std::uint64_t>& before) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t local = 0; local < places_.size(); ++local) {
    Place& place = places_[local];
    if (failures_ > before[local]) {
      place.failures = failures_;
    } else {
      place.told = true;
    }
  }
}

// By the first local rank of each.
void StandingRanks::begin_each() {
  std::optional<Failing> failing;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    serving_ = true;
    failing = std::exchange(failing_, std::nullopt);
  }
  if (failing) communicator_.fail(failing->rank, failing->why);
}

StandingRanks::Order* StandingRanks::next_order(Place& place) {
  std::unique_lock<std::mutex> lock(mutex_);
  // What a rank orders when it has heard of this each()'s failure is for the next.
  const auto has_order = [&] { return !place.orders.empty() && !place.told; };
  changed_.wait(lock, [&] { return has_order() || closing_ || failed_; });
  if (failed_) throw PeerFailed(communicator_.failure());
  if (!has_order()) return nullptr;
  place.running = place.orders.front();
  place.orders.pop_front();
  return place.running;
}

void StandingRanks::serve(LocalRank& rank) {
  if (rank.local() == 0) begin_each();
  Place& place = places_[static_cast<std::size_t>(rank.local())];
  while (Order* const order = next_order(place)) {
    std::exception_ptr error;
    try {
      (*order->work)(rank);
    } catch (...) {
      error = std::current_exception();
    }
    const bool failed = error != nullptr && !communicator_.failure().empty();
    const std::lock_guard<std::mutex> lock(mutex_);
    place.running = nullptr;
    place.told = place.told || failed;
    order->error = std::move(error);
    order->done = true;
    changed_.notify_all();
  }
}

bool StandingRanks::refuse(Place& place, const std::exception_ptr& error) {
  for (Order* each : place.orders) {
    each->error = error;
    each->done = true;
  }
  const bool had = !place.orders.empty();
  place.orders.clear();
  changed_.notify_all();
  return had;
}

void StandingRanks::end_each(const std::exception_ptr& error) {
  ++failures_;
  failure_ = text_of(error);
  const auto refused = std::make_exception_ptr(PeerFailed(failure_));
  for (Place& place : places_) {
    if (place.told || refuse(place, refused)) place.failures = failures_;
    place.told = false;
  }
}

void StandingRanks::stand() {
  int unserved = 0;
  while (true) {
    std::exception_ptr error;
    try {
      communicator_.each([this](LocalRank& rank) { serve(rank); });
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    failed_ = false;
    unserved = std::exchange(serving_, false) ? 0 : unserved + 1;
    if (error == nullptr) {
      dead_ = std::make_exception_ptr(BadArgument("the communicator is closed"));
    } else if (closing_ || unserved == kMostUnserved) {
      dead_ = error;
    }
    if (dead_ == nullptr) {
      end_each(error);
      continue;
    }
    for (Place& place : places_) refuse(place, dead_);
    return;
  }
}

}  // namespace duet::bindings
