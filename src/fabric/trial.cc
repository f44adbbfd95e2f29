#include "fabric/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "core/clock.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/packing.h"
#include "fabric/background_gather.h"
#include "fabric/one_sided.h"
#include "fabric/proxy/producers.h"
#include "fabric/two_sided.h"

namespace duet {
namespace {

constexpr double kSlowestLoad = 1e6;  // of a load that makes progress at all
constexpr std::size_t kFifoCapacity = 128;
constexpr int kCallsPerFailureCheck = 1024;

}  // namespace

FabricTrial::FabricTrial(FabricSession& session, const FabricTask& task, Device& device,
                         std::function<bool()> stop)
    : session_(session),
      task_(task),
      device_(device),
      stop_(std::move(stop)),
      self_(session.processes().index()),
      core_(session.core()) {
  session_.open(device, task_.memory, task_.path);
  session_.require(task_.mode);
  memory_ = std::make_unique<FabricMemory>(session_, task_, device);
  if (task_.issue != RailIssue::direct) {
    fifo_ = std::make_unique<FifoMemory>(device, task_.fifo, kFifoCapacity);
  }
  since_ = steady_now();
}

FabricTrial::~FabricTrial() {
  if (!clean_) session_.abandon();
}

std::vector<double> FabricTrial::run(int iterations, bool grouped) {
  std::vector<double> samples;
  for (int i = 0; i < iterations; ++i) samples.push_back(iterate());
  if (!grouped) return samples;
  return {std::accumulate(samples.begin(), samples.end(), 0.0) / iterations};
}

double FabricTrial::iterate() {
  number_ = session_.next_iteration();
  memory_->fill(number_);
  arrived_.assign(static_cast<std::size_t>(task_.messages), false);
  session_.processes().barrier("all processes to fill their buffers", kDefaultDeadlineSeconds);
  clean_ = false;
  agree(move());
  clean_ = true;
  memory_->check(number_);
  return slowest_;
}

// Polls once; now and then checks whether another process has failed.
void FabricTrial::progress() {
  core_.polled(session_.traffic().progress());
  if (++progress_calls_ % kCallsPerFailureCheck != 0) return;
  const std::string failure = session_.processes().failure();
  if (!failure.empty()) throw PeerFailed(failure);
}

void FabricTrial::wait_for_peers() {
  core_.hold();
  PeerReadiness& readiness = session_.readiness();
  RailSet& rails = session_.rails();
  std::vector<int> used = rails.all_living();
  if (task_.mode == RailMode::single && !session_.settings().failover) used.resize(1);
  const std::vector<int> peers = session_.peers();
  readiness.expect(number_, moves() ? peers : std::vector<int>{}, used);
  if (!moves() || task_.bidirectional) readiness.announce(number_, peers, used);
  const double give_up = steady_now() + session_.settings().stall_seconds;
  while (!readiness.complete()) {
    progress();
    if (steady_now() < give_up) continue;
    std::string names;
    for (const int rail : used) names += (names.empty() ? "" : ", ") + rails.name(rail);
    throw Timeout(fmt::format("rail {}: nothing came from process {} for {:.3g} s", names,
                              *readiness.missing().begin(), session_.settings().stall_seconds));
  }
}

// Seconds of this process's own load; 0 where it only answers.
double FabricTrial::move() {
  session_.traffic().on_arrival = [this](std::uint32_t message) {
    if (message < arrived_.size()) arrived_[message] = true;
  };
  const FabricLoad all = load_of(task_, self_, session_.processes().size());
  return task_.operation == FabricOperation::send_recv ? move_two_sided(all) : move_one_sided(all);
}

double FabricTrial::move_two_sided(const FabricLoad& all) {
  const auto role = moves() ? TwoSidedRole::requester : TwoSidedRole::responder;
  TwoSided messages(role, session_.traffic(), session_.rails(), all, memory_->out(), memory_->in(),
                    steady_now);
  messages.post_receives();
  wait_for_peers();
  const double begin = steady_now();
  if (moves()) messages.start();
  while (!messages.done()) progress();
  if (!moves()) return 0;
  const double seconds = steady_now() - begin;
  latencies_.push_back(messages.latencies());
  return seconds;
}

double FabricTrial::move_one_sided(const FabricLoad& all) {
  const bool reads = task_.operation == FabricOperation::read;
  OneSided messages(session_.traffic(), session_.rails(), all,
                    reads ? memory_->in() : memory_->out(), reads ? memory_->out() : memory_->in(),
                    steady_now);
  if (moves() && task_.issue != RailIssue::direct) return move_by_proxy(messages);
  wait_for_peers();
  if (!moves()) return 0;
  const double begin = steady_now();
  messages.start();
  while (!messages.done()) progress();
  const double seconds = steady_now() - begin;
  latencies_.push_back(messages.latencies());
  return seconds;
}

// This thread is the proxy.
double FabricTrial::move_by_proxy(OneSided& writes) {
  Fifo fifo = fifo_->fifo();
  Proxy proxy(fifo, session_.traffic(), writes, task_.window);
  const auto producers = make_producers(
      device_, fifo, {task_.producers, writes.size(), task_.issue == RailIssue::blocking});
  wait_for_peers();
  const double begin = steady_now();
  producers->begin();
  while (!producers->ended()) {
    proxy.progress();
    progress();
  }
  latencies_.push_back(writes.latencies());
  proxy_times_ = proxy.times();
  for (double& seconds : proxy_times_.poll) seconds -= producers->clock_offset();
  proxy_times_.push = producers->push_seconds();
  proxy_times_.completion = writes.latencies();
  return producers->end() - begin;
}

// Gathers all processes' times, losses and wish to stop, so that the measuring loop decides the
// same in all. Polls meanwhile, since the others may still be moving data.
void FabricTrial::agree(double seconds) {
  const double bytes = static_cast<double>(task_.bytes) * task_.messages;
  const double wall = steady_now() - since_;
  const bool stop = stop_ && stop_();
  core_.release();  // the gathering thread needs it
  BackgroundGather others(
      session_.processes(),
      pack({fmt::format("{} {} {}", seconds, wall, stop ? 1 : 0), session_.losses()}),
      "all processes to move their data", kDefaultDeadlineSeconds + bytes / kSlowestLoad);
  while (!others.done()) progress();
  slowest_ = 0;
  double longest = 0;
  for (const std::string& each : others.take()) {
    const std::vector<std::string> items = unpack(each);
    double their_seconds = 0, their_wall = 0;
    int their_stop = 0;
    if (std::sscanf(items.at(0).c_str(), "%lf %lf %d", &their_seconds, &their_wall, &their_stop) !=
        3) {
      throw Error("another process sent times in an unknown format");
    }
    slowest_ =
        std::max(slowest_, task_.all_to_all() ? their_seconds : their_seconds / task_.messages);
    longest = std::max(longest, their_wall);
    stop_agreed_ = stop_agreed_ || their_stop != 0;
    session_.apply_losses(items.at(1));
  }
  agreed_seconds_ += longest;
  wait_for_arrivals();
  since_ = steady_now();
}

// The data have arrived; their immediate values may still be in the completion queue.
void FabricTrial::wait_for_arrivals() {
  if (task_.operation != FabricOperation::write_imm || !task_.receives(self_)) return;
  const double give_up = steady_now() + session_.settings().stall_seconds;
  for (auto missing = arrived_.begin(); missing != arrived_.end();) {
    missing = std::find(missing, arrived_.end(), false);
    if (missing == arrived_.end()) return;
    if (steady_now() > give_up) {
      throw Mismatch(fmt::format("iteration {}: the immediate value of message {} never came",
                                 number_, missing - arrived_.begin()));
    }
    progress();
  }
}

std::string FabricTrial::memory_how() const {
  const std::string out = memory_->out().how();
  return out.empty() ? memory_->in().how() : out;
}

std::vector<double> FabricTrial::latencies(int without) const {
  std::vector<double> all;
  for (std::size_t i = static_cast<std::size_t>(without); i < latencies_.size(); ++i) {
    all.insert(all.end(), latencies_[i].begin(), latencies_[i].end());
  }
  return all;
}

}  // namespace duet
