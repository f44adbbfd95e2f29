// The client of the hub: a thread takes what the hub sends, and whoever waits sleeps until then.
#include "team/processes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/packing.h"
#include "core/thread.h"
#include "team/hub.h"
#include "team/rendezvous.h"

namespace duet {
namespace {

constexpr double kAnswerSeconds = 2;  // the hub answers at once or never
constexpr std::chrono::seconds kLookAtStop{1};
constexpr std::chrono::seconds kHeldUp{1};  // of a wait's end: more is no wait

}  // namespace

std::unique_ptr<Processes> Processes::find(double deadline_seconds) {
  return std::make_unique<Processes>(find_launch(), deadline_seconds);
}

Processes::Processes(Launch launch, double deadline_seconds)
    : index_(launch.index),
      size_(launch.size),
      local_index_(launch.local_index),
      patience_(launch.patience_seconds),
      place_(fmt::format("pid {} on {}", getpid(), host_name())),
      label_(fmt::format("process {}", launch.index)) {
  if (size_ == 1) {
    if (launch.broadcast) launch.broadcast("");
    return;
  }
  hub_ = open_hub(launch);
  meet(launch, deadline_seconds);
}

// Without its goodbye the hub would take this process for one that died.
Processes::~Processes() {
  if (!listener_.joinable()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  closing_ = true;
  lock.unlock();
  send({"bye"});
  lock.lock();
  changed_.wait_for(lock, std::chrono::duration<double>(kAnswerSeconds), [&] { return closed_; });
  lock.unlock();
  socket_.shut();
  listener_.join();
}

void Processes::meet(const Launch& launch, double deadline_seconds) {
  const auto begin = Clock::now();
  socket_ = connect_to_hub(launch, name(), deadline_seconds);
  hub_place_ = fmt::format("{}:{}", fmt::join(launch.addresses, ", "), launch.port);
  listener_ = start_thread("the thread that listens to the hub", [this] { listen(); });
  const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
  try {
    const Frame places =
        gather_all(place_, "all processes of the run to come", deadline_seconds - spent);
    const std::lock_guard<std::mutex> lock(mutex_);
    hub_place_ = places.front();
  } catch (...) {
    socket_.shut();
    listener_.join();
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
  // Where the hub is gone, the listener says so; behind half a frame nothing can be sent.
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
  const Round round{epoch_, sequence_++};
  lock.unlock();
  if (mine.size() > kLongestPart) {
    throw Error(
        fmt::format("{} bytes for {}: expected {} at most", mine.size(), what, kLongestPart));
  }
  send({"gather", std::to_string(round.first), std::to_string(round.second), mine});
  lock.lock();
  const bool in_time = wait(lock, deadline_seconds, [&] {
    return gathered_.count(round) > 0 || !failure_locked().empty();
  });
  if (const auto found = gathered_.find(round); found != gathered_.end()) {
    std::vector<std::string> all = std::move(found->second);
    gathered_.erase(found);
    return all;
  }
  if (in_time) raise(what);
  const std::string text = fmt::format("waiting for {}: gave up after {:.3g} s: {}", what,
                                       deadline_seconds, missing(lock, round));
  lock.unlock();
  fail(text);
  throw Timeout(text);
}

void Processes::barrier(const std::string& what, double deadline_seconds) {
  gather_all("", what, deadline_seconds);
}

// Until `done`, or so long: false. Asks now and then who is still there.
bool Processes::wait(std::unique_lock<std::mutex>& lock, double seconds,
                     const std::function<bool()>& done) {
  const auto after = [](Clock::time_point begin, std::chrono::duration<double> passed) {
    return begin + std::chrono::duration_cast<Clock::duration>(passed);
  };
  const auto begin = Clock::now();
  constexpr double kForEver = 1e9;  // more does not fit a point in time
  const auto end = seconds < kForEver ? after(begin, std::chrono::duration<double>(seconds))
                                      : Clock::time_point::max();
  auto ask = after(begin, patience_);
  std::optional<Clock::time_point> stopped;
  for (;;) {
    auto look = std::min(end, called_ ? after(*called_, patience_) : ask);
    if (stop_) look = std::min(look, Clock::now() + kLookAtStop);
    if (changed_.wait_until(lock, look, done)) return true;
    const auto now = Clock::now();
    // While this process was stopped, no answer could be read.
    if (called_ && now - look > kHeldUp) called_ = now;
    if (now >= end) return false;
    if (called_ && now >= after(*called_, patience_)) {
      called_.reset();
      silent_ = true;
      socket_.shut();  // the listener says so
    } else if (!called_ && now >= ask) {
      call(lock);
      ask = after(now, patience_);
    }
    if (!stop_ || !stop_()) continue;
    if (!stopped) stopped = now;
    if (now >= after(*stopped, patience_)) throw Interrupted();
  }
}

void Processes::call(std::unique_lock<std::mutex>& lock) {
  if (!called_) called_ = Clock::now();
  lock.unlock();
  send({"call"});
  lock.lock();
}

std::string Processes::missing(std::unique_lock<std::mutex>& lock, const Round& round) {
  missing_.reset();
  lock.unlock();
  send({"who", std::to_string(round.first), std::to_string(round.second)});
  lock.lock();
  changed_.wait_for(lock, std::chrono::duration<double>(kAnswerSeconds),
                    [&] { return missing_.has_value(); });
  return missing_.value_or(fmt::format("process 0 ({}) does not answer", hub_place_));
}

void Processes::fail(const std::string& text) {
  const std::string reason = fmt::format("{} failed: {}", name(), text);
  long epoch = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    epoch = epoch_;
  }
  // At once and not with the hub's echo, which the next epoch may overtake.
  take({"fail", std::to_string(epoch), reason});
  if (size_ == 1) return;
  send({"fail", std::to_string(epoch), reason});
  std::unique_lock<std::mutex> lock(mutex_);
  call(lock);
}

void Processes::begin_epoch() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++epoch_;
  sequence_ = 0;
  gathered_.clear();
  failures_.erase(failures_.begin(), failures_.lower_bound(epoch_));
}

int Processes::on_failure(std::function<void(const std::string&)> tell) {
  return callbacks_.add(std::move(tell), [this] { return failure(); });
}

void Processes::forget(int number) { callbacks_.remove(number); }

std::string Processes::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_locked();
}

void Processes::died() {
  const std::lock_guard<std::mutex> lock(mutex_);
  died_ = true;
}

bool Processes::lost_any() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return died_;
}

bool Processes::lost_process_0() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lost_;
}

std::string Processes::failure_locked() const {
  const auto found = failures_.find(epoch_);
  return found != failures_.end() ? found->second : gone_;
}

void Processes::raise(const std::string& what) const {
  const std::string reason = failure_locked();
  if (!reason.empty()) throw PeerFailed(fmt::format("{} while waiting for {}", reason, what));
}

void Processes::listen() {
  std::string end = "is gone";
  try {
    while (const auto frame = socket_.receive()) {
      if (frame->at(0) == "gone") died();
      if (frame->at(0) == "call") {
        send({"here"});
      } else {
        take(*frame);
      }
    }
  } catch (const std::exception& error) {
    end = fmt::format("is not understood: {}", error.what());
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (silent_) end = fmt::format("has not answered for {:.3g} s", patience_.count());
    lost_ = gone_.empty() && !closing_;
    died_ = died_ || lost_;
  }
  take({"gone", fmt::format("process 0 ({}) {}", hub_place_, end)});
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Processes::take(const Frame& frame) {
  const std::string& kind = frame.at(0);
  std::string reason;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (kind == "all") {
      const Round round{std::stol(frame.at(1)), std::stol(frame.at(2))};
      if (frame.size() != static_cast<std::size_t>(size_) + 3) throw Error("parts are missing");
      if (round.first >= epoch_) gathered_[round] = {frame.begin() + 3, frame.end()};
    } else if (kind == "who") {
      missing_ = frame.at(1);
    } else if (kind == "here") {
      called_.reset();
    } else if (kind == "fail") {
      // One of the epoch before counts for the callbacks: this process had ended its share already.
      const long epoch = std::stol(frame.at(1));
      if (epoch >= epoch_) failures_.emplace(epoch, frame.at(2));
      if (epoch >= epoch_ - 1 && epoch > told_) reason = frame.at(2);
      told_ = std::max(told_, epoch);
    } else if (kind == "gone" || kind == "ended") {
      if (gone_.empty()) gone_ = frame.at(1);
      if (kind == "gone" && !closing_) reason = frame.at(1);
    }
    changed_.notify_all();
  }
  if (!reason.empty()) callbacks_.call(reason);
}

}  // namespace duet
