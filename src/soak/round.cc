#include "soak/round.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <utility>

#include "core/error.h"
#include "results/record.h"
#include "soak/difference.h"
#include "soak/gemm_lane.h"
#include "soak/menu.h"
#include "timing/prepared.h"

namespace duet {
namespace {

constexpr int kVirtualBatches = 3;  // compared ones of a round in virtual time
constexpr double kReadingPeriod = 1;
constexpr double kDryDeadline = 10;       // after a failure: the device may be gone
constexpr std::size_t kMostOfRound = 16;  // findings that are kept; results are counted

}  // namespace

std::uint64_t usual_kept_bytes(const DeviceInfo& info) {
  if (info.is_gpu()) return info.memory_bytes / 4 * 3;
  return info.is_cpu ? 16 * kSoakMiB : kSoakMiB;
}

// One round, on all ranks.
class SoakRunner::Running {
 public:
  Running(SoakRunner& runner, SoakRound& round) : runner_(runner), round_(round) {
    lanes_.resize(static_cast<std::size_t>(team().size()));
    const SoakRoundPlan& plan = round.plan;
    if (!plan.engine.empty()) {
      session_ = &runner.engines_.session(plan.engine, plan.collective, false);
    }
  }

  ~Running() { free_lanes(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // Throws OutOfMemory.
  void run() {
    begin_ = runner_.machine_.now();
    try {
      team().each([this](Rank& rank) { guarded(rank); });
    } catch (const OutOfMemory&) {
      failed_ = true;
      throw;
    } catch (const std::exception& error) {
      failed_ = round_.lost = true;
      if (round_.findings.empty()) {
        round_.findings.push_back({SoakFault::lost, runner_.machine_.name(), error.what()});
      }
    }
    round_.seconds = runner_.machine_.now() - begin_;
    for (const Lanes& lanes : lanes_) {
      round_.tflops.push_back(lanes.seconds > 0 ? lanes.flop / lanes.seconds / 1e12 : 0);
    }
  }

 private:
  struct Lanes {
    std::unique_ptr<SoakGemm> products;
    std::unique_ptr<SoakCopies> copies;
    std::unique_ptr<SoakCall> call;
    double flop = 0, seconds = 0;  // of products with nothing beside them
    double of_one = 0;             // seconds of a product of the last set
    bool differs = false;          // its first product from rank 0's
    std::optional<SoakFinding> difference = {};
  };

  Team& team() { return runner_.engines_.team(); }
  Lanes& lanes_of(const Rank& rank) { return lanes_[static_cast<std::size_t>(rank.index)]; }
  SoakKept& kept(const Rank& rank) { return *runner_.kept_[static_cast<std::size_t>(rank.index)]; }
  bool planted(InjectedFault fault, const Rank& rank) const {
    return runner_.injections_.has(fault, round_.round, rank.index);
  }
  void step(const Rank& rank, const char* what) {
    if (rank.index == 0) runner_.step_(fmt::format("round {}: {}", round_.round, what));
  }
  void add(std::vector<SoakFinding> found) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (SoakFinding& each : found) {
      if (round_.findings.size() < kMostOfRound) round_.findings.push_back(std::move(each));
    }
  }
  void add(const std::optional<SoakFinding>& found) {
    if (!found) return;
    add_wrong(1);
    add(std::vector<SoakFinding>{*found});
  }
  void add_wrong(int results) {
    const std::lock_guard<std::mutex> lock(mutex_);
    round_.wrong += results;
  }

  std::vector<Stream*> streams() const;
  void free_lanes() noexcept;
  void guarded(Rank& rank);
  void on_rank(Rank& rank);
  void prepare(Rank& rank);
  void compare_devices(Rank& rank);
  void multiply_alone(Rank& rank);
  void batch(Rank& rank, int number);
  void transfer(Rank& rank, int number);
  void plant_in_transfers(Rank& rank);
  int repeats_of(const Rank& rank) const { return planted(InjectedFault::slow, rank) ? 2 : 1; }
  int products_in(double seconds, const Lanes& own) const;
  void check_products(Rank& rank, int number);
  void decide(int number, double seconds);
  void pass_virtual_time(Rank& rank);

  SoakRunner& runner_;
  SoakRound& round_;
  CollectiveSession* session_ = nullptr;  // null: the round has no collective
  std::vector<Lanes> lanes_;              // by rank
  double begin_ = 0;
  std::mutex mutex_;  // guards round_, and what follows while ranks fail
  bool failed_ = false;
  // Written by rank 0 between barriers.
  bool go_on_ = true;
  int group_ = 1;  // products of a set that is enqueued from now on
  int sets_[2] = {1, 1};
};

std::vector<Stream*> SoakRunner::Running::streams() const {
  std::vector<Stream*> all;
  for (const Lanes& lanes : lanes_) {
    if (lanes.products != nullptr) all.push_back(&lanes.products->stream());
    if (lanes.call != nullptr) all.push_back(&lanes.call->stream());
    if (lanes.copies == nullptr) continue;
    for (Stream* stream : lanes.copies->streams()) all.push_back(stream);
  }
  return all;
}

// Memory must not be freed while work may still use it. A device that is lost never ends its work,
// and a call that frees its memory may not return: all of it is left to the end of the process.
void SoakRunner::Running::free_lanes() noexcept {
  if (!failed_) return;
  run_dry(runner_.machine_, streams(), kDryDeadline);
  const auto idle = [](Stream* stream) {
    try {
      return stream->idle();
    } catch (const std::exception&) {
      return false;
    }
  };
  const std::vector<Stream*> all = streams();
  if (std::all_of(all.begin(), all.end(), idle)) return;
  static auto* const left = new std::vector<std::vector<Lanes>>;
  left->push_back(std::move(lanes_));
}

// The first rank that fails names the device; the others fail because of it.
void SoakRunner::Running::guarded(Rank& rank) {
  try {
    on_rank(rank);
  } catch (const PeerFailed&) {
    throw;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const std::exception& error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!std::exchange(failed_, true)) {
      round_.findings.push_back({SoakFault::lost, rank.device.info().name, error.what()});
    }
    throw;
  }
}

void SoakRunner::Running::on_rank(Rank& rank) {
  prepare(rank);
  compare_devices(rank);
  multiply_alone(rank);
  step(rank, "filling the memory that is kept");
  kept(rank).fill(round_.plan, rank.index);
  if (planted(InjectedFault::memory, rank)) kept(rank).flip_bit();
  if (planted(InjectedFault::lost, rank)) throw Error("the device was lost (--inject)");
  lanes_of(rank).products->enqueue(1, 1, repeats_of(rank));
  int number = 0;
  do {
    batch(rank, ++number);
    team().barrier("the round to go on", kSoakDeadline);
  } while (go_on_);
  lanes_of(rank).products->stream().synchronize(kSoakDeadline);
  check_products(rank, number + 1);
  if (runner_.machine_.is_virtual()) pass_virtual_time(rank);
  step(rank, "comparing the memory that was kept");
  int wrong = 0;
  add(kept(rank).check(round_.plan, rank.index, wrong));
  add_wrong(wrong);
  const std::lock_guard<std::mutex> lock(mutex_);
  round_.compared_bytes += static_cast<double>(kept(rank).bytes());
}

void SoakRunner::Running::prepare(Rank& rank) {
  step(rank, "preparing");
  Lanes& own = lanes_of(rank);
  rank.device.make_current();
  own.products = std::make_unique<SoakGemm>(rank, runner_.engines_.gemm(), round_.plan,
                                            runner_.menu_.most_products);
  own.copies = std::make_unique<SoakCopies>(rank, round_.plan);
  if (session_ != nullptr) own.call = std::make_unique<SoakCall>(rank, *session_, round_.plan);
}

// A device that multiplies wrongly in the same way each time is found by what others make of the
// same inputs. If most differ from rank 0's product, that is the odd one.
void SoakRunner::Running::compare_devices(Rank& rank) {
  Lanes& own = lanes_of(rank);
  step(rank, "checking the first product");
  add(own.products->check_first());
  team().barrier("the first products", kSoakDeadline);
  const SoakGemm& first = *lanes_.front().products;
  if (rank.index > 0 && own.products->comparable(first)) {
    own.difference = own.products->compare_first(first);
    own.differs = own.difference.has_value();
  }
  team().barrier("the first products to be compared", kSoakDeadline);
  if (rank.index != 0) return;
  const auto odd =
      std::count_if(lanes_.begin(), lanes_.end(), [](const Lanes& lanes) { return lanes.differs; });
  if (odd > 1 && 2 * odd > static_cast<std::ptrdiff_t>(lanes_.size())) {
    add(SoakFinding{SoakFault::core, rank.device.info().name,
                    fmt::format("{}: {} of {} devices have another product of the same inputs",
                                name(round_.plan.gemm), odd, lanes_.size() - 1)});
    return;
  }
  for (const Lanes& lanes : lanes_) add(lanes.difference);
}

// Rates that rounds are compared by: beside copies a product takes longer the more of them there
// are. All devices multiply at a time.
void SoakRunner::Running::multiply_alone(Rank& rank) {
  constexpr double kShare = 0.05, kMost = 1;  // of the round; seconds
  Lanes& own = lanes_of(rank);
  Machine& machine = runner_.machine_;
  const int repeats = repeats_of(rank);
  step(rank, "multiplying alone");
  own.products->enqueue(0, 1, repeats);
  own.of_one = own.products->wait(0);
  team().barrier("the other ranks' products", kSoakDeadline);
  const double enough = std::min(kShare * runner_.options_.round_seconds, kMost);
  int wrong = 0;
  do {
    const int products = products_in(enough, own);
    own.products->enqueue(0, products, repeats);
    own.seconds += own.products->wait(0);
    own.flop += products * flop(round_.plan.gemm);
    add(own.products->check(0, products, wrong));
  } while (own.seconds < enough && !machine.is_virtual());
  add_wrong(wrong);
}

// Copies and the collective of a batch, beside the products of the next one. Those of this one were
// enqueued before, so that the device multiplies also while contents are filled and compared.
void SoakRunner::Running::batch(Rank& rank, int number) {
  Lanes& own = lanes_of(rank);
  const double begin = runner_.machine_.now();
  step(rank, "filling buffers");
  own.copies->renew(number);
  if (own.call != nullptr) own.call->renew(number);
  team().barrier("the other ranks' buffers to be filled", kSoakDeadline);
  transfer(rank, number);
  team().barrier("the other ranks' transfers", kSoakDeadline);
  if (number == 1) plant_in_transfers(rank);
  step(rank, "comparing results");
  int wrong = 0;
  add(own.copies->check(number, wrong));
  if (own.call != nullptr) add(own.call->check(number, wrong));
  add_wrong(wrong);
  check_products(rank, number);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    round_.compared_bytes += static_cast<double>(own.copies->bytes());
    round_.wire_bytes += static_cast<double>(own.copies->bytes());
    if (own.call != nullptr) {
      round_.compared_bytes += static_cast<double>(own.call->bytes());
      round_.wire_bytes += own.call->wire_bytes();
    }
  }
  if (rank.index == 0) decide(number, runner_.machine_.now() - begin);
}

void SoakRunner::Running::plant_in_transfers(Rank& rank) {
  const Lanes& own = lanes_of(rank);
  if (planted(InjectedFault::link, rank)) flip_bit(own.copies->arrived(), 815);
  if (planted(InjectedFault::collective, rank) && own.call != nullptr) {
    flip_bit(own.call->received(), 33);
  }
}

void SoakRunner::Running::transfer(Rank& rank, int number) {
  Lanes& own = lanes_of(rank);
  step(rank, "multiplying and transferring");
  own.copies->enqueue();
  if (own.call != nullptr) own.call->enqueue();
  if (rank.index == 0) sets_[(number + 1) % 2] = group_;
  own.products->enqueue((number + 1) % 2, group_, repeats_of(rank));
  own.copies->wait();
  if (own.call != nullptr) own.call->wait();
}

void SoakRunner::Running::check_products(Rank& rank, int number) {
  Lanes& own = lanes_of(rank);
  const int set = number % 2, products = sets_[set];
  own.of_one = own.products->wait(set) / products;
  const double made = products * flop(round_.plan.gemm);
  if (planted(InjectedFault::core, rank) && number == 1) flip_bit(own.products->product(set), 99);
  int wrong = 0;
  add(own.products->check(set, products, wrong));
  const std::lock_guard<std::mutex> lock(mutex_);
  round_.wrong += wrong;
  round_.flop += made;
  round_.compared_bytes +=
      static_cast<double>(products) * static_cast<double>(own.products->product_bytes());
}

// Whether the round goes on, and how many products take as long as a batch.
void SoakRunner::Running::decide(int number, double seconds) {
  Machine& machine = runner_.machine_;
  runner_.watch_.sample(kReadingPeriod);
  if (number > 1) round_.batches.push_back(seconds);
  const bool enough = machine.is_virtual()
                          ? number >= kVirtualBatches
                          : number > 1 && machine.now() - begin_ >= runner_.options_.round_seconds;
  round_.cut_short = runner_.stop_ && runner_.stop_();
  go_on_ = !enough && !round_.cut_short;
  group_ = products_in(seconds, lanes_.front());
}

int SoakRunner::Running::products_in(double seconds, const Lanes& own) const {
  const double fitting = own.of_one > 0 ? std::ceil(seconds / own.of_one) : 1;
  return static_cast<int>(
      std::clamp(fitting, 1.0, static_cast<double>(runner_.menu_.most_products)));
}

// The rest of the round, in which a simulated device multiplies without contents.
void SoakRunner::Running::pass_virtual_time(Rank& rank) {
  Machine& machine = runner_.machine_;
  constexpr double kProbe = 1e12;  // FLOP
  const auto stream = rank.device.make_stream();
  const auto multiply = [&](double amount, double deadline) {
    Task task{"soak", {}, {}};
    task.demand.flop = amount;
    task.demand.dtype = round_.plan.gemm.dtype;
    stream->run(task);
    stream->synchronize(deadline);
  };
  const double begin = machine.now();
  multiply(kProbe, kSoakDeadline);
  const double now = machine.now(), left = begin_ + runner_.options_.round_seconds - now;
  if (left > 0 && now > begin) {
    multiply(kProbe * left / (now - begin), kSoakDeadline + 2 * left);
  }
}

SoakRunner::SoakRunner(Machine& machine, const SoakOptions& options, std::function<bool()> stop,
                       std::function<void(const std::string&)> step)
    : machine_(machine),
      options_(options),
      injections_(options.injections),
      stop_(std::move(stop)),
      step_(std::move(step)),
      engines_(machine),
      watch_(machine, options.allowed, injections_) {
  menu_ = soak_menu(machine, engines_);
  const DeviceInfo& info = machine.device(0).info();
  const std::uint64_t asked =
      options_.kept_bytes > 0 ? options_.kept_bytes : usual_kept_bytes(info);
  // A simulated device's blocks have contents only if they are small.
  const std::uint64_t block = info.is_gpu() ? kSoakGiB : info.is_cpu ? 64 * kSoakMiB : kSoakMiB;
  for (int i = 0; i < machine.size(); ++i) {
    kept_.push_back(std::make_unique<SoakKept>(machine.device(i), asked, block));
  }
}

SoakRunner::~SoakRunner() = default;

std::uint64_t SoakRunner::kept_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& each : kept_) sum += each->bytes();
  return sum;
}

// What the round needs beside the memory that is kept depends on its shapes and libraries.
void SoakRunner::run_fitting(SoakRound& round) {
  const SoakRound begun = round;
  for (;;) {
    try {
      return Running(*this, round).run();
    } catch (const OutOfMemory&) {
      engines_.close();
      bool freed = false;
      for (const auto& each : kept_) freed = each->shrink() || freed;
      if (!freed) throw;
      round = begun;
    }
  }
}

SoakRound SoakRunner::run(int number) {
  SoakRound round;
  round.round = number;
  round.seed = options_.seed;
  round.engine = engines_.gemm().name();
  round.plan = soak_round(menu_, options_.seed, number);
  round.product = name(round.plan.gemm);
  run_fitting(round);
  if (round.lost) engines_.close();
  step_(fmt::format("round {}: asking the drivers", number));
  watch_.sample(0);
  for (SoakFinding& each : watch_.end_round(number)) round.findings.push_back(std::move(each));
  round.devices = watch_.devices();
  for (const WatchedDevice& device : round.devices) {
    round.limits.push_back(
        fmt::format("{}", fmt::join(summary_of(device.readings).throttle, "; ")));
  }
  return round;
}

}  // namespace duet
