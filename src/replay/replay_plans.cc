#include "replay/replay_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/call_contents.h"
#include "core/error.h"
#include "gemm/verification.h"

namespace duet {
namespace {

constexpr Fill kPoisoned{FillKind::constant, 0xA5};
constexpr std::uint64_t kWorkspaceOfGemms = 64 << 20;  // bytes, on GPUs

}  // namespace

ReplayPlans::ReplayPlans(Team& team, const ReplayStep& step, std::vector<GemmEngine*> gemms,
                         CollectiveSession* session, const Tuning& tuning)
    : team_(team),
      step_(step),
      engines_(std::move(gemms)),
      session_(session),
      tuning_(tuning),
      ranks_(static_cast<std::size_t>(team.local_size())),
      algorithms_(step.gemms.size()) {}

void ReplayPlans::acquire(Rank& rank) {
  OfRank& own = of(rank);
  if (own.users++ > 0) return;
  rank.team.free_retired(rank);
  if (!step_.gemms.empty()) plan_gemms(rank, own);
  if (!step_.collectives.empty()) plan_collectives(rank, own);
}

void ReplayPlans::release(const Rank& rank) noexcept {
  OfRank& own = of(rank);
  if (--own.users > 0) return;
  own.gemms.clear();
  own.collectives.clear();
  for (Buffer* buffer : {&own.a, &own.b, &own.c, &own.workspace}) buffer->reset();
  own.send.reset();
  own.recv.reset();
}

GemmBuffers ReplayPlans::operands(const OfRank& own, const GemmProblem& p) const {
  return {own.a.span().slice(0, matrix_bytes(p.m, p.k, p.dtype)),
          own.b.span().slice(0, matrix_bytes(p.k, p.n, p.dtype)),
          own.c.span().slice(0, matrix_bytes(p.m, p.n, p.output))};
}

void ReplayPlans::plan_gemms(Rank& rank, OfRank& own) {
  std::uint64_t a = 0, b = 0, c = 0;
  for (const ReplayGemm& each : step_.gemms) {
    const GemmProblem& p = each.problem;
    a = std::max(a, matrix_bytes(p.m, p.k, p.dtype));
    b = std::max(b, matrix_bytes(p.k, p.n, p.dtype));
    c = std::max(c, matrix_bytes(p.m, p.n, p.output));
  }
  own.a = rank.device.allocate(a);
  own.b = rank.device.allocate(b);
  own.c = rank.device.allocate(c);
  Tuning tuning = tuning_;
  const DeviceInfo& info = rank.device.info();
  if (!info.is_cpu && !team_.machine().is_virtual()) {
    own.workspace = rank.device.allocate(kWorkspaceOfGemms);
    tuning.workspace = own.workspace.span();
  }
  const auto stream = rank.device.make_stream();
  for (std::size_t i = 0; i < step_.gemms.size(); ++i) {
    const GemmProblem& problem = step_.gemms[i].problem;
    fill_gemm(rank, i, *stream);  // tuning multiplies, and takes other times for other data
    stream->synchronize(kReplayDeadline);
    own.gemms.push_back(engines_[i]->plan(rank.device, problem, operands(own, problem), tuning));
    if (rank.local == 0) algorithms_[i] = own.gemms.back()->algorithm();
  }
}

CollectiveBuffers ReplayPlans::buffers(const Rank& rank, const OfRank& own,
                                       const Collective& call) const {
  return {own.send->span().slice(0, send_bytes(call, rank.index, rank.size)),
          own.recv->span().slice(0, recv_bytes(call, rank.index, rank.size))};
}

void ReplayPlans::plan_collectives(Rank& rank, OfRank& own) {
  std::uint64_t sent = 0, received = 0;  // the same on all ranks, as allocations may be shared
  for (const ReplayCollective& each : step_.collectives) {
    for (int of = 0; of < rank.size; ++of) {
      sent = std::max(sent, send_bytes(each.collective, of, rank.size));
      received = std::max(received, recv_bytes(each.collective, of, rank.size));
    }
  }
  own.send = session_->allocate(rank, sent);
  own.recv = session_->allocate(rank, received);
  const auto stream = rank.device.make_stream();
  fill_collective(rank, 0, *stream);
  stream->synchronize(kReplayDeadline);
  const SharedStaging shared(*session_, rank);
  for (const ReplayCollective& each : step_.collectives) {
    own.collectives.push_back(
        session_->plan(rank, each.collective, buffers(rank, own, each.collective)));
  }
  rank.team.barrier("the other ranks to have planned", kReplayDeadline);
}

void ReplayPlans::enqueue_gemm(const Rank& rank, std::size_t index, Stream& stream) {
  const OfRank& own = of(rank);
  own.gemms[index]->enqueue(stream, operands(own, step_.gemms[index].problem));
}

void ReplayPlans::enqueue_collective(const Rank& rank, std::size_t index, Stream& stream) {
  of(rank).collectives[index]->enqueue(stream);
}

const CollectivePlan& ReplayPlans::collective(const Rank& rank, std::size_t index) {
  return *of(rank).collectives.at(index);
}

std::uint64_t ReplayPlans::seed_of(const OfRank& own) const {
  return (own.fills + 1) * static_cast<std::uint64_t>(team_.size());
}

void ReplayPlans::fill_gemm(const Rank& rank, std::size_t index, Stream& stream) {
  OfRank& own = of(rank);
  ++own.fills;
  const GemmProblem& problem = step_.gemms[index].problem;
  const GemmBuffers matrices = operands(own, problem);
  const std::uint64_t seed = 2 * (seed_of(own) + static_cast<std::uint64_t>(rank.index));
  stream.fill(matrices.a, {FillKind::normal, seed, 0, problem.dtype});
  stream.fill(matrices.b, {FillKind::normal, seed + 1, 0, problem.dtype});
  stream.fill(matrices.c, {FillKind::constant, poison(problem.output), 0, problem.output});
}

void ReplayPlans::fill_collective(const Rank& rank, std::size_t index, Stream& stream) {
  OfRank& own = of(rank);
  ++own.fills;
  const Collective& call = step_.collectives[index].collective;
  const CollectiveBuffers memory = buffers(rank, own, call);
  stream.fill(own.recv->span(), kPoisoned);
  if (memory.send.bytes == 0) return;
  stream.fill(memory.send, call_input(call, rank.size, rank.index, seed_of(own)));
}

void ReplayPlans::check_gemm(const Rank& rank, std::size_t index) {
  const OfRank& own = of(rank);
  const GemmProblem& problem = step_.gemms[index].problem;
  const GemmBuffers matrices = operands(own, problem);
  const std::string whose = fmt::format("replay by {} on rank {}: {}", engines_[index]->name(),
                                        rank.index, name(problem));
  require_written(rank.device, matrices.c, problem.n, problem.output, whose);
  require_rows(rank.device, problem, matrices, {}, whose);
}

void ReplayPlans::check_collective(const Rank& rank, std::size_t index) {
  const OfRank& own = of(rank);
  const Collective& call = step_.collectives[index].collective;
  const Span received = buffers(rank, own, call).recv;
  if (received.bytes == 0) return;
  for (const ReceivedPart& part :
       call_result(call, rank.size, rank.index, seed_of(own), received.bytes)) {
    const auto wrong = rank.device.check(received.slice(part.offset, part.bytes), part.fill);
    if (!wrong) continue;
    throw Mismatch(fmt::format(
        "replay: {} of {} bytes on rank {}: what it received is wrong from "
        "byte {} on",
        name(call.kind), received.bytes, rank.index, part.offset + wrong->first_offset));
  }
}

std::optional<Skipped> ReplayPlans::unverifiable(const Rank& rank) {
  const OfRank& own = of(rank);
  for (std::size_t i = 0; i < own.gemms.size(); ++i) {
    if (auto skipped = own.gemms[i]->unverifiable(operands(own, step_.gemms[i].problem)))
      return skipped;
  }
  const auto is_phantom = [&](const std::unique_ptr<CollectiveMemory>& memory) {
    return memory != nullptr && !rank.device.has_contents(memory->span());
  };
  if (is_phantom(own.send) || is_phantom(own.recv))
    return Skipped{"buffers of this size have no contents on a simulated machine"};
  return std::nullopt;
}

}  // namespace duet
