// What a device does beside its multiplications in a round of a soak: copies, a collective, and
// memory that is only kept. Each batch has new contents, and all of them are compared.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "soak/finding.h"
#include "soak/plan.h"
#include "team/team.h"

namespace duet {

// Lanes of soak_seed().
enum SoakLane {
  kSoakToPeer,
  kSoakFromHost,
  kSoakToHost,
  kSoakCollective,
  kSoakKept,
  kSoakMatrixA,
  kSoakMatrixB,
};

// Findings of one check; further ones are only counted.
inline constexpr std::size_t kMostSoakFindings = 4;

// A rank's copies: to another device, from host memory and to it.
class SoakCopies {
 public:
  SoakCopies(Rank& rank, const SoakRoundPlan& plan);
  SoakCopies(const SoakCopies&) = delete;
  SoakCopies& operator=(const SoakCopies&) = delete;

  void renew(int batch);  // blocks; no copy is under way
  void enqueue();
  void wait();
  std::vector<SoakFinding> check(int batch, int& wrong);

  std::uint64_t bytes() const;  // that are copied, and compared, in a batch
  const Span& arrived() const;  // what another device or the host sends
  std::vector<Stream*> streams() const;

 private:
  struct Copying {
    SoakLane lane = kSoakToPeer;
    Buffer source, destination;
    std::string from, to;  // "cuda:0", "host"
    Executor executor = Executor::dma;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Stream> poisons;  // of the destination's device
  };
  void add(SoakLane lane, std::uint64_t bytes, Executor executor);
  Fill contents(const Copying& copying, int batch) const;
  SoakFinding placed(const Copying& copying, const Difference& difference, const Fill& fill) const;

  Rank& rank_;
  const SoakRoundPlan& plan_;
  std::vector<Copying> copies_;
};

// A rank's part of the round's collective. All ranks make the same calls.
class SoakCall {
 public:
  SoakCall(Rank& rank, CollectiveSession& session, const SoakRoundPlan& plan);
  SoakCall(const SoakCall&) = delete;
  SoakCall& operator=(const SoakCall&) = delete;

  void renew(int batch);  // blocks; no call is under way on any rank
  void enqueue() { call_->enqueue(*stream_); }
  void wait();
  std::vector<SoakFinding> check(int batch, int& wrong);

  double wire_bytes() const { return call_->wire_bytes(); }
  std::uint64_t bytes() const { return receive_->span().bytes; }
  Span received() const { return receive_->span(); }
  Stream& stream() { return *stream_; }

 private:
  std::uint64_t seed(int batch) const { return soak_seed(plan_, batch, kSoakCollective, 0); }

  Rank& rank_;
  const SoakRoundPlan& plan_;
  std::unique_ptr<CollectiveMemory> send_, receive_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<CollectivePlan> call_;  // uses the memory
};

// Memory of a device that keeps its contents during a round.
class SoakKept {
 public:
  // As much as the device gives, up to `bytes`.
  SoakKept(Device& device, std::uint64_t bytes, std::uint64_t block);

  void fill(const SoakRoundPlan& plan, int rank);  // blocks
  std::vector<SoakFinding> check(const SoakRoundPlan& plan, int rank, int& wrong) const;
  // Frees an eighth of it, or the last block. False if none is left.
  bool shrink();
  std::uint64_t bytes() const;
  void flip_bit();  // of the first block, if there is one

 private:
  static Fill contents(const SoakRoundPlan& plan, int rank, std::size_t block);

  Device& device_;
  std::vector<Buffer> blocks_;
};

}  // namespace duet
