#include "team/processes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/clock.h"
#include "core/packing.h"
#include "core/thread.h"
#include "team/hub.h"
#include "team/rendezvous.h"

namespace duet {
namespace {

constexpr double kAnswerSeconds = 2;  // the hub answers at once
constexpr std::chrono::seconds kStopCheckInterval{1};
// If a wait ends this much later than it should, this process was stopped or got no core.
constexpr std::chrono::seconds kHeldUp{1};

}  // namespace

std::unique_ptr<Processes> Processes::find(double deadline_seconds) {
  return std::make_unique<Processes>(find_launch(), deadline_seconds);
}

Processes::Processes(Launch launch, double deadline_seconds)
    : index_(launch.index),
      size_(launch.size),
      local_index_(launch.local_index),
      heartbeat_timeout_(launch.heartbeat_timeout_seconds),
      place_(fmt::format("pid {} on {}", getpid(), host_name())),
      label_(fmt::format("process {}", launch.index)) {
  if (size_ == 1) {
    if (launch.broadcast) launch.broadcast("");
    return;
  }
  hub_ = open_hub(launch);
  join_run(launch, deadline_seconds);
}

// Without a bye the hub would report this process as gone.
Processes::~Processes() {
  if (!receiver_.joinable()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  closing_ = true;
  lock.unlock();
  send({"bye"});
  lock.lock();
  changed_.wait_for(lock, std::chrono::duration<double>(kAnswerSeconds), [&] { return closed_; });
  lock.unlock();
  socket_.shut();
  receiver_.join();
}

void Processes::leave() const {
  if (size_ > 1) socket_.shut();  // receive_frames() reports it
}

void Processes::join_run(const Launch& launch, double deadline_seconds) {
  const auto begin = SteadyClock::now();
  socket_ = connect_to_hub(launch, name(), deadline_seconds);
  hub_address_ = fmt::format("{}:{}", fmt::join(launch.addresses, ", "), launch.port);
  receiver_ = start_thread("the thread that receives from the hub", [this] { receive_frames(); });
  const double spent = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  try {
    const Frame places =
        gather_all(place_, "all processes of the run to come", deadline_seconds - spent);
    const std::lock_guard<std::mutex> lock(mutex_);
    hub_address_ = places.front();
  } catch (...) {
    socket_.shut();
    receiver_.join();
    throw;
  }
}

std::string Processes::name() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return fmt::format("{} ({})", label_, place_);
}

void Processes::set_label(const std::string& label) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    label_ = label;
  }
  if (size_ > 1) send({"name", name()});
}

void Processes::send(const Frame& frame) {
  const std::lock_guard<std::mutex> lock(sending_);
  // If the hub is gone, receive_frames() reports it. Nothing can be sent after half a frame.
  if (!socket_.send(frame)) socket_.shut();
}

std::vector<std::string> Processes::gather_all(const std::string& mine, const std::string& call,
                                               const std::string& what, double deadline_seconds) {
  if (size_ == 1) return {mine};
  std::vector<std::string> all;
  std::string first, difference;
  for (const std::string& each : gather_bytes(pack({call, mine}), what, deadline_seconds)) {
    std::vector<std::string> fields = unpack(each);
    if (all.empty()) first = fields.at(0);
    if (fields.at(0) != first && difference.empty()) {
      difference = fmt::format(
          "processes have come to different calls: process 0 waits for {}, process {} for {}",
          first, all.size(), fields.at(0));
    }
    all.push_back(std::move(fields.at(1)));
  }
  if (!difference.empty()) throw BadArgument(difference);
  return all;
}

std::vector<std::string> Processes::gather_bytes(const std::string& mine, const std::string& what,
                                                 double deadline_seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  raise(what);
  const GatherId id{epoch_, sequence_++};
  lock.unlock();
  if (mine.size() > kMaxGatherBytes) {
    throw Error(
        fmt::format("{} bytes for {}: expected {} at most", mine.size(), what, kMaxGatherBytes));
  }
  send({"gather", std::to_string(id.first), std::to_string(id.second), mine});
  lock.lock();
  const bool in_time = wait(lock, deadline_seconds,
                            [&] { return gathered_.count(id) > 0 || !failure_locked().empty(); });
  if (const auto found = gathered_.find(id); found != gathered_.end()) {
    std::vector<std::string> all = std::move(found->second);
    gathered_.erase(found);
    return all;
  }
  if (in_time) raise(what);
  const std::string text = fmt::format("waiting for {}: gave up after {:.3g} s: {}", what,
                                       deadline_seconds, missing(lock, id));
  lock.unlock();
  fail(text);
  throw Timeout(text);
}

void Processes::barrier(const std::string& what, double deadline_seconds) {
  gather_all("", what, deadline_seconds);
}

// Waits until `done`; false after `seconds`. Sends heartbeats now and then.
bool Processes::wait(std::unique_lock<std::mutex>& lock, double seconds,
                     const std::function<bool()>& done) {
  const auto after = [](SteadyClock::time_point begin, std::chrono::duration<double> passed) {
    return begin + std::chrono::duration_cast<SteadyClock::duration>(passed);
  };
  const auto begin = SteadyClock::now();
  constexpr double kForEver = 1e9;  // more does not fit a point in time
  const auto end = seconds < kForEver ? after(begin, std::chrono::duration<double>(seconds))
                                      : SteadyClock::time_point::max();
  auto next_heartbeat = after(begin, heartbeat_timeout_);
  std::optional<SteadyClock::time_point> stopped;
  for (;;) {
    auto wake = std::min(
        end, heartbeat_sent_ ? after(*heartbeat_sent_, heartbeat_timeout_) : next_heartbeat);
    if (stop_) wake = std::min(wake, SteadyClock::now() + kStopCheckInterval);
    if (changed_.wait_until(lock, wake, done)) return true;
    const auto now = SteadyClock::now();
    // While this process was stopped it could read no answer, so the timeout begins anew.
    if (heartbeat_sent_ && now - wake > kHeldUp) heartbeat_sent_ = now;
    if (now >= end) return false;
    if (heartbeat_sent_ && now >= after(*heartbeat_sent_, heartbeat_timeout_)) {
      give_up_hub();
    } else if (!heartbeat_sent_ && now >= next_heartbeat) {
      send_heartbeat(lock);
      next_heartbeat = after(now, heartbeat_timeout_);
    }
    if (!stop_ || !stop_()) continue;
    if (!stopped) stopped = now;
    if (now >= after(*stopped, heartbeat_timeout_)) throw Interrupted();
  }
}

void Processes::send_heartbeat(std::unique_lock<std::mutex>& lock, const char* kind) {
  if (!heartbeat_sent_) heartbeat_sent_ = SteadyClock::now();
  lock.unlock();
  send({kind});
  lock.lock();
}

void Processes::give_up_hub() {
  heartbeat_sent_.reset();
  hub_unresponsive_ = true;
  socket_.shut();  // receive_frames() reports it
}

// If the last call was long ago this process itself was held up, and the timeout begins anew.
void Processes::probe() {
  if (size_ == 1) return;
  std::unique_lock<std::mutex> lock(mutex_);
  const auto unanswered =
      heartbeat_sent_ ? SteadyClock::now() - *heartbeat_sent_ : SteadyClock::duration::zero();
  if (unanswered >= heartbeat_timeout_ && unanswered < heartbeat_timeout_ + kHeldUp) {
    give_up_hub();
    return;
  }
  if (unanswered >= heartbeat_timeout_) heartbeat_sent_.reset();
  send_heartbeat(lock, "probe");
}

double Processes::probe_interval() const { return heartbeat_timeout_.count() / kProbesInTimeout; }

std::string Processes::missing(std::unique_lock<std::mutex>& lock, const GatherId& id) {
  missing_.reset();
  lock.unlock();
  send({"who", std::to_string(id.first), std::to_string(id.second)});
  lock.lock();
  changed_.wait_for(lock, std::chrono::duration<double>(kAnswerSeconds),
                    [&] { return missing_.has_value(); });
  return missing_.value_or(fmt::format("process 0 ({}) does not answer", hub_address_));
}

void Processes::fail(const std::string& text) {
  end_epoch("fail", fmt::format("{} failed: {}", name(), text));
}

void Processes::decline(const std::string& text) {
  end_epoch("decline", fmt::format("{} cannot go on: {}", name(), text));
}

void Processes::end_epoch(const char* kind, const std::string& reason) {
  long epoch = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    epoch = epoch_;
  }
  // At once, since the hub's echo may come only in the next epoch.
  handle_frame({kind, std::to_string(epoch), reason});
  if (size_ == 1) return;
  send({kind, std::to_string(epoch), reason});
  std::unique_lock<std::mutex> lock(mutex_);
  send_heartbeat(lock);
}

void Processes::begin_epoch() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++epoch_;
  sequence_ = 0;
  gathered_.clear();
  failures_.erase(failures_.begin(), failures_.lower_bound(epoch_));
  declined_.erase(declined_.begin(), declined_.lower_bound(epoch_));
}

int Processes::on_failure(std::function<void(const std::string&)> notify) {
  return callbacks_.add(std::move(notify), [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = failures_.find(epoch_);
    return found != failures_.end() ? found->second : gone_;
  });
}

void Processes::forget(int number) { callbacks_.remove(number); }

std::string Processes::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_locked();
}

void Processes::note_loss() {
  const std::lock_guard<std::mutex> lock(mutex_);
  lost_any_ = true;
}

bool Processes::lost_any() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lost_any_;
}

bool Processes::lost_process_0() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lost_process_0_;
}

std::string Processes::failure_locked() const {
  for (const auto* ends : {&failures_, &declined_}) {
    if (const auto found = ends->find(epoch_); found != ends->end()) return found->second;
  }
  return gone_;
}

void Processes::raise(const std::string& what) const {
  const std::string reason = failure_locked();
  if (!reason.empty()) throw PeerFailed(fmt::format("{} while waiting for {}", reason, what));
}

void Processes::receive_frames() {
  std::string end = "is gone";
  try {
    while (const auto frame = socket_.receive()) {
      if (frame->at(0) == "gone") note_loss();
      if (frame->at(0) == "heartbeat") {
        send({"alive"});
      } else {
        handle_frame(*frame);
      }
    }
  } catch (const std::exception& error) {
    end = fmt::format("is not understood: {}", error.what());
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (hub_unresponsive_)
      end = fmt::format("has not answered for {:.3g} s", heartbeat_timeout_.count());
    lost_process_0_ = gone_.empty() && !closing_;
    lost_any_ = lost_any_ || lost_process_0_;
  }
  handle_frame({"gone", fmt::format("process 0 ({}) {}", hub_address_, end)});
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Processes::handle_frame(const Frame& frame) {
  const std::string& kind = frame.at(0);
  std::string reason;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (kind == "all") {
      const GatherId id{std::stol(frame.at(1)), std::stol(frame.at(2))};
      if (frame.size() != static_cast<std::size_t>(size_) + 3) throw Error("parts are missing");
      if (id.first >= epoch_) gathered_[id] = {frame.begin() + 3, frame.end()};
    } else if (kind == "who") {
      missing_ = frame.at(1);
    } else if (kind == "alive") {
      heartbeat_sent_.reset();
    } else if (kind == "fail") {
      // The callbacks also get a failure of the epoch before: this process had already left it.
      const long epoch = std::stol(frame.at(1));
      if (epoch >= epoch_) failures_.emplace(epoch, frame.at(2));
      if (epoch >= epoch_ - 1 && epoch > notified_epoch_) reason = frame.at(2);
      notified_epoch_ = std::max(notified_epoch_, epoch);
    } else if (kind == "decline") {
      const long epoch = std::stol(frame.at(1));
      if (epoch >= epoch_) declined_.emplace(epoch, frame.at(2));
    } else if (kind == "gone" || kind == "ended") {
      if (gone_.empty()) gone_ = frame.at(1);
      if (kind == "gone" && !closing_) reason = frame.at(1);
    }
    changed_.notify_all();
  }
  if (!reason.empty()) callbacks_.call(reason);
}

std::string own_device(const std::string& device, const Processes& processes) {
  const bool all_gpus = device == "cuda" || device == "hip";
  if (!all_gpus || processes.size() == 1 || !processes.local_index()) return device;
  return fmt::format("{}:{}", device, *processes.local_index());
}

}  // namespace duet
