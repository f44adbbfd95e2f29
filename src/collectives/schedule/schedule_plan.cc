#include "collectives/schedule/schedule_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "collectives/schedule/checker.h"
#include "core/error.h"

namespace duet {
namespace {

std::vector<Stream*> streams_for(const RankSchedule& schedule, SideStreams* lanes) {
  int most = 0;
  for (const Step& step : schedule.steps) most = std::max(most, step.lane);
  std::vector<Stream*> streams;
  for (int lane = 0; lane < most; ++lane) streams.push_back(&lanes->at(lane));
  return streams;
}

// Looked at before it is bound, which would fail without a word about steps.
std::optional<RankSchedule> kept(const RankSchedule& schedule, bool keeps) {
  if (!keeps) return std::nullopt;
  const std::string fault = fault_of_form(schedule);
  if (!fault.empty()) throw Error(fault);
  return schedule;
}

// The addresses may be of different allocations: they are numbers here.
std::ptrdiff_t bytes_between(const Span& from, const void* to, const char* what) {
  if (from.bytes == 0) return 0;
  if (to == nullptr)
    throw BadArgument(fmt::format("{}: expected a buffer of {} bytes", what, from.bytes));
  return static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(to) -
                                     reinterpret_cast<std::uintptr_t>(from.data));
}

KernelShift shift_between(const CollectiveBuffers& from, const BufferAddresses& to) {
  return {bytes_between(from.send, to.send, "send"), bytes_between(from.recv, to.recv, "recv"),
          bytes_between(from.residual, to.residual, "residual"),
          bytes_between(from.updated, to.updated, "updated"),
          bytes_between(from.weight, to.weight, "weight")};
}

std::byte* moved_by(std::byte* data, std::ptrdiff_t bytes) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(data) +
                                      static_cast<std::uintptr_t>(bytes));
}

}  // namespace

SchedulePlan::SchedulePlan(Rank& rank, const RankSchedule& schedule,
                           const CollectiveBuffers& buffers, const ScheduleSession& session)
    : device_(rank.device),
      kept_(kept(schedule, session.keeps_schedules)),
      lanes_(streams_for(schedule, session.lanes)),
      binding_(rank, schedule, buffers, session),
      algorithm_(text_of(schedule)),
      multiplies_rows_(schedule.multiplies_rows) {
  for (const StreamCall& call : stream_calls(schedule)) {
    calls_.push_back({call.lane, bound(schedule, call)});
    computes_ = computes_ || call.kind == StreamCall::Kind::compute;
    if (kept_) words_.push_back(duet::text_of(schedule, call));
  }
  for (const Step& step : schedule.steps)
    normalises_ = normalises_ || binding_.normalises(step.kernel);
  takes_buffers_ = is_of_own_buffers(schedule.ranks);
  const NodeMap* nodes = session.nodes;
  add_wire_bytes(wire_bytes_of(schedule));
  add_network_bytes(network_bytes_of(schedule, [&](int to) {
    return nodes != nullptr && nodes->node(to) != nodes->node(rank.index);
  }));
}

// Whether all that reads or writes buffers is this rank's alone, and can do so elsewhere.
bool SchedulePlan::is_of_own_buffers(int ranks) const {
  const auto is_order = [](const Call& call) {
    return std::holds_alternative<Record>(call.what) || std::holds_alternative<WaitFor>(call.what);
  };
  const auto can_move = [&](const Call& call) {
    if (const auto* kernel = std::get_if<PreparedKernel*>(&call.what))
      return (*kernel)->can_shift();
    return is_order(call) || (ranks == 1 && std::holds_alternative<Copy>(call.what));
  };
  return !std::all_of(calls_.begin(), calls_.end(), is_order) &&
         std::all_of(calls_.begin(), calls_.end(), can_move);
}

std::string SchedulePlan::text_of(const RankSchedule& schedule) const {
  std::string text = schedule.algorithm;
  for (int wire = 0; wire < static_cast<int>(schedule.wires.size()); ++wire) {
    const std::size_t at = text.find(kNetworkText);
    if (at == std::string::npos) break;
    text.replace(at, kNetworkText.size(), binding_.wire(wire).description());
  }
  return text;
}

SchedulePlan::Bound SchedulePlan::bound(const RankSchedule& schedule, const StreamCall& call) {
  const Step& step = schedule.steps[index_of(call.step)];
  switch (call.kind) {
    case StreamCall::Kind::handshake:
      return Handshake{binding_.semaphores_of(call.signals), binding_.semaphores_of(call.waits)};
    case StreamCall::Kind::copy: {
      const StepCopy& copy = step.copies[call.copy];
      return Copy{binding_.span_of(copy.to), binding_.span_of(copy.from), copy.executor,
                  copy.shape};
    }
    case StreamCall::Kind::record:
      return Record{&event_of(call.step)};
    case StreamCall::Kind::wait:
      return WaitFor{&event_of(call.step)};
    case StreamCall::Kind::wire:
      return *step.wire;
    case StreamCall::Kind::compute:
      return *step.compute;
    case StreamCall::Kind::rows:
      return CallRows{step.rows->rows, binding_.span_of(step.rows->place), step.rows->adds,
                      call.lane == 0 ? 0 : 1};
    case StreamCall::Kind::kernel:
      break;
  }
  kernels_.push_back(binding_.prepare(step.kernel));
  return kernels_.back().get();
}

Event& SchedulePlan::event_of(int step) {
  std::unique_ptr<Event>& event = events_[step];
  if (event == nullptr) event = device_.make_event(EventUse::order);
  return *event;
}

void SchedulePlan::call(const WireCall& call, Stream& stream) {
  Wire& wire = binding_.wire(call.wire);
  switch (call.kind) {
    case WireCall::Kind::begin:
      return wire.begin(stream);
    case WireCall::Kind::send:
      return wire.enqueue(stream, index_of(call.message));
    case WireCall::Kind::end:
      return wire.end(stream);
  }
}

void SchedulePlan::enqueue_beside(Stream& stream, SideStreams& side, const CallCompute& compute) {
  if (!computes_) return CollectivePlan::enqueue_beside(stream, side, compute);
  enqueue_calls(stream, &compute, nullptr);
}

void SchedulePlan::enqueue_call(const Call& call, Stream& stream, const CallCompute* compute,
                                const MultiplyRows* multiply) {
  Stream& lane = lane_of(call, stream);
  if (const auto* copy = std::get_if<Copy>(&call.what)) {
    lane.copy(*copy);
  } else if (const auto* handshake = std::get_if<Handshake>(&call.what)) {
    lane.handshake(*handshake);
  } else if (const auto* record = std::get_if<Record>(&call.what)) {
    lane.record(*record->event);
  } else if (const auto* wait = std::get_if<WaitFor>(&call.what)) {
    lane.wait(*wait->event);
  } else if (const auto* on_wire = std::get_if<WireCall>(&call.what)) {
    this->call(*on_wire, stream);
  } else if (const auto* part = std::get_if<ComputePart>(&call.what)) {
    if (compute == nullptr) return;
    const auto& does = *part == ComputePart::before ? compute->before : compute->beside;
    if (does) does(stream);
  } else if (const auto* rows = std::get_if<CallRows>(&call.what)) {
    if (multiply != nullptr) (*multiply)(lane, *rows);
  } else {
    lane.launch(*std::get<PreparedKernel*>(call.what));
  }
}

void SchedulePlan::enqueue_calls(Stream& stream, const CallCompute* compute,
                                 const MultiplyRows* multiply) {
  for (const Call& call : calls_) enqueue_call(call, stream, compute, multiply);
}

void SchedulePlan::enqueue_at(Stream& stream, const BufferAddresses& buffers) {
  if (!takes_buffers_) return CollectivePlan::enqueue_at(stream, buffers);
  const KernelShift by = shift_between(binding_.buffers(), buffers);
  for (const Call& call : calls_) {
    if (const auto* kernel = std::get_if<PreparedKernel*>(&call.what)) (*kernel)->shift(by);
  }
  for (const Call& call : calls_) {
    if (const auto* copy = std::get_if<Copy>(&call.what)) {
      Copy moved = *copy;
      moved.source.data = moved_by(moved.source.data, by.sources);
      moved.destination.data = moved_by(moved.destination.data, by.destinations);
      lane_of(call, stream).copy(moved);
    } else {
      enqueue_call(call, stream, nullptr, nullptr);
    }
  }
  for (const Call& call : calls_) {
    if (const auto* kernel = std::get_if<PreparedKernel*>(&call.what)) (*kernel)->shift({});
  }
}

void SchedulePlan::enqueue_observed(Stream& stream, StepObserver& observer) {
  if (words_.empty()) return CollectivePlan::enqueue_observed(stream, observer);
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const bool told = !words_[i].empty();
    Stream& lane = lane_of(calls_[i], stream);
    if (told) observer.begins(lane, calls_[i].lane, words_[i]);
    enqueue_call(calls_[i], stream, nullptr, nullptr);
    if (told) observer.ends(lane);
  }
}

}  // namespace duet
