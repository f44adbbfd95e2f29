// Memory, streams and collectives of a rank.
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "bindings/handles.h"
#include "bindings/status.h"

namespace duet::bindings {
namespace {

// By their numbers in duet.h.
constexpr CollectiveKind kKinds[] = {
    CollectiveKind::all_gather,       CollectiveKind::all_to_all,     CollectiveKind::all_to_all_v,
    CollectiveKind::broadcast,        CollectiveKind::gather,         CollectiveKind::scatter,
    CollectiveKind::send_recv,        CollectiveKind::reduce_scatter, CollectiveKind::all_reduce,
    CollectiveKind::neighbor_exchange};
constexpr DType kTypes[] = {DType::fp32, DType::fp16, DType::bf16, DType::int8, DType::int32};
constexpr RowSums kRowSums[] = {RowSums::by_compute, RowSums::in_slots};
constexpr Reduction kReductions[] = {Reduction::sum, Reduction::max, Reduction::min,
                                     Reduction::avg};

template <typename Value, std::size_t count>
Value at(const Value (&values)[count], std::int32_t number, const char* field) {
  if (number >= 0 && static_cast<std::size_t>(number) < count) return values[number];
  throw BadArgument(
      fmt::format("duet_collective: {} {}: expected 0 to {}", field, number, count - 1));
}

Collective collective_of(const duet_collective* given) {
  const auto read = read_struct(given, "duet_collective");
  Collective collective;
  collective.kind = at(kKinds, read.kind, "kind");
  collective.dtype = at(kTypes, read.dtype, "dtype");
  collective.op = at(kReductions, read.op, "op");
  collective.count = read.count;
  collective.root = read.root;
  collective.neighbors.ring = read.ring;
  collective.rows = {read.row_columns, read.row_ranges, at(kRowSums, read.row_sums, "row_sums"),
                     read.row_streams == 0 ? 1 : read.row_streams};
  collective.norm = {read.norm_columns, static_cast<float>(read.norm_epsilon)};
  if (read.counts != nullptr) {
    collective.counts.assign(read.counts, read.counts + read.counts_length);
  }
  return collective;
}

// What a call uses of a buffer of so many bytes.
Span buffer_of(duet_rank& rank, const char* name, const void* data, std::uint64_t bytes,
               std::uint64_t needed) {
  if (bytes < needed) {
    throw BadArgument(fmt::format("{}: {} bytes: expected {} for this rank", name, bytes, needed));
  }
  return rank.span(data, needed);
}

// Those of a rank that plans a collective, as it is called in errors.
CollectiveBuffers buffers_of(duet_rank& rank, const LocalRank& own, const Collective& one,
                             const duet_buffers& given) {
  const bool norm = one.norm.columns > 0;
  if (!norm && (given.residual != nullptr || given.updated != nullptr || given.weight != nullptr)) {
    throw BadArgument("residual, updated, weight: expected NULL where norm_columns is 0");
  }
  const std::uint64_t sent = send_bytes(one, own.index(), own.size());
  const std::uint64_t received = recv_bytes(one, own.index(), own.size());
  const std::uint64_t rows = norm ? received : 0, row = one.norm.columns * size_of(one.dtype);
  return {buffer_of(rank, "send", given.send, given.send_bytes, sent),
          buffer_of(rank, "recv", given.recv, given.recv_bytes, received),
          buffer_of(rank, "residual", given.residual, given.residual_bytes, rows),
          buffer_of(rank, "updated", given.updated, given.updated_bytes, rows),
          buffer_of(rank, "weight", given.weight, given.weight_bytes, row)};
}

// Plans what `collective` says on what `buffers()` returns. What is wrong with either is told to
// all ranks.
template <typename Buffers>
void plan_on(duet_rank& rank, const duet_collective* collective, const Buffers& buffers,
             duet_call** call) {
  *call = nullptr;
  auto made = std::make_unique<duet_call>(rank);
  rank.run([&](LocalRank& own) {
    made->call = own.plan([&]() -> LocalRank::Request {
      const Collective one = collective_of(collective);
      check(one, own.size());
      return {one, buffers_of(rank, own, one, buffers())};
    });
  });
  made->algorithm = made->call.algorithm();
  *call = made.release();
}

// Calls the program's function as a MultiplyRows. Throws where it does not say that it is done.
MultiplyRows multiply_by(duet_rows_function multiply, void* user) {
  if (multiply == nullptr) throw BadArgument("duet_enqueue_rows: expected a function");
  return [=](Stream& stream, const CallRows& rows) {
    const duet_rows given{sizeof given,     rows.rows.first,   rows.rows.count, rows.place.data,
                          rows.place.bytes, rows.adds ? 1 : 0, rows.stream};
    std::int32_t done = 0;
    multiply(user, &given, stream.native(), &done);
    if (done != 1) throw Error("rows: the program's function failed");
  };
}

double deadline_of(double seconds) { return seconds > 0 ? seconds : kDefaultDeadlineSeconds; }

}  // namespace
}  // namespace duet::bindings

using duet::bindings::guarded;
using duet::bindings::require_pointer;

duet_memory::duet_memory(duet_rank& of, std::unique_ptr<duet::CollectiveMemory> made)
    : part(*of.comm), rank(of.whole()), memory(std::move(made)) {
  const duet::Span span = memory->span();
  if (span.bytes == 0) return;
  const std::lock_guard<std::mutex> lock(rank.mutex);
  rank.memories[reinterpret_cast<std::uintptr_t>(span.data)] = this;
}

duet_memory::~duet_memory() {
  const std::lock_guard<std::mutex> lock(rank.mutex);
  const auto found = rank.memories.find(reinterpret_cast<std::uintptr_t>(memory->span().data));
  if (found != rank.memories.end() && found->second == this) rank.memories.erase(found);
}

duet_status duet_allocate(duet_rank* rank, uint64_t bytes, duet_memory** memory) noexcept {
  return guarded([&] {
    require_pointer(rank, "duet_allocate: rank");
    require_pointer(memory, "duet_allocate: memory");
    *memory = nullptr;
    std::unique_ptr<duet::CollectiveMemory> made;
    rank->run([&](duet::LocalRank& own) { made = own.allocate(bytes); });
    *memory = std::make_unique<duet_memory>(*rank, std::move(made)).release();
  });
}

void* duet_memory_data(const duet_memory* memory) noexcept {
  return memory == nullptr ? nullptr : memory->memory->span().data;
}

uint64_t duet_memory_bytes(const duet_memory* memory) noexcept {
  return memory == nullptr ? 0 : memory->memory->span().bytes;
}

duet_status duet_memory_write(duet_memory* memory, uint64_t offset, const void* from,
                              uint64_t bytes) noexcept {
  return guarded([&] {
    require_pointer(memory, "duet_memory_write: memory");
    if (bytes == 0) return;
    require_pointer(from, "duet_memory_write: from");
    memory->rank.device->write(memory->memory->span().slice(offset, bytes), from);
  });
}

duet_status duet_memory_read(duet_memory* memory, uint64_t offset, void* to,
                             uint64_t bytes) noexcept {
  return guarded([&] {
    require_pointer(memory, "duet_memory_read: memory");
    if (bytes == 0) return;
    require_pointer(to, "duet_memory_read: to");
    memory->rank.device->read(memory->memory->span().slice(offset, bytes), to);
  });
}

void duet_memory_free(duet_memory* memory) noexcept { delete memory; }

duet_status duet_stream_open(duet_rank* rank, duet_stream** stream) noexcept {
  return guarded([&] {
    require_pointer(rank, "duet_stream_open: rank");
    require_pointer(stream, "duet_stream_open: stream");
    *stream = nullptr;
    *stream = std::make_unique<duet_stream>(*rank).release();
  });
}

void* duet_stream_native(duet_stream* stream) noexcept {
  return stream == nullptr ? nullptr : stream->stream.native();
}

duet_status duet_stream_synchronize(duet_stream* stream, double seconds) noexcept {
  return guarded([&] {
    require_pointer(stream, "duet_stream_synchronize: stream");
    stream->stream.synchronize(duet::bindings::deadline_of(seconds));
  });
}

void duet_stream_close(duet_stream* stream) noexcept { delete stream; }

duet_status duet_sizes(const duet_collective* collective, int32_t rank, int32_t ranks,
                       uint64_t* send, uint64_t* recv) noexcept {
  return guarded([&] {
    const duet::Collective one = duet::bindings::collective_of(collective);
    if (ranks < 1 || rank < 0 || rank >= ranks) {
      throw duet::BadArgument(fmt::format("duet_sizes: rank {} of {}", rank, ranks));
    }
    duet::check(one, ranks);
    if (send != nullptr) *send = duet::send_bytes(one, rank, ranks);
    if (recv != nullptr) *recv = duet::recv_bytes(one, rank, ranks);
  });
}

duet_status duet_plan(duet_rank* rank, const duet_collective* collective, const void* send,
                      uint64_t send_bytes, void* recv, uint64_t recv_bytes,
                      duet_call** call) noexcept {
  return guarded([&] {
    require_pointer(rank, "duet_plan: rank");
    require_pointer(call, "duet_plan: call");
    duet_buffers buffers{};
    buffers.send = send;
    buffers.send_bytes = send_bytes;
    buffers.recv = recv;
    buffers.recv_bytes = recv_bytes;
    duet::bindings::plan_on(
        *rank, collective, [&] { return buffers; }, call);
  });
}

duet_status duet_plan_buffers(duet_rank* rank, const duet_collective* collective,
                              const duet_buffers* buffers, duet_call** call) noexcept {
  return guarded([&] {
    require_pointer(rank, "duet_plan_buffers: rank");
    require_pointer(call, "duet_plan_buffers: call");
    const auto read = [&] { return duet::bindings::read_struct(buffers, "duet_buffers"); };
    duet::bindings::plan_on(*rank, collective, read, call);
  });
}

duet_status duet_enqueue(duet_call* call, void* native_stream) noexcept {
  return guarded([&] {
    require_pointer(call, "duet_enqueue: call");
    call->call.enqueue(native_stream);
  });
}

duet_status duet_enqueue_on(duet_call* call, duet_stream* stream) noexcept {
  return guarded([&] {
    require_pointer(call, "duet_enqueue_on: call");
    require_pointer(stream, "duet_enqueue_on: stream");
    call->call.enqueue(stream->stream);
  });
}

int32_t duet_call_takes_buffers(const duet_call* call) noexcept {
  return call == nullptr || !call->call.takes_buffers() ? 0 : 1;
}

duet_status duet_enqueue_at(duet_call* call, void* native_stream, const void* send, void* recv,
                            const void* residual, void* updated, const void* weight) noexcept {
  return guarded([&] {
    require_pointer(call, "duet_enqueue_at: call");
    call->call.enqueue_at(native_stream, {send, recv, residual, updated, weight});
  });
}

duet_status duet_enqueue_at_on(duet_call* call, duet_stream* stream, const void* send, void* recv,
                               const void* residual, void* updated, const void* weight) noexcept {
  return guarded([&] {
    require_pointer(call, "duet_enqueue_at_on: call");
    require_pointer(stream, "duet_enqueue_at_on: stream");
    call->call.enqueue_at(stream->stream, {send, recv, residual, updated, weight});
  });
}

duet_status duet_enqueue_rows(duet_call* call, void* native_stream, duet_rows_function multiply,
                              void* user) noexcept {
  return guarded([&] {
    require_pointer(call, "duet_enqueue_rows: call");
    call->call.enqueue_rows(native_stream, duet::bindings::multiply_by(multiply, user));
  });
}

duet_status duet_enqueue_rows_on(duet_call* call, duet_stream* stream, duet_rows_function multiply,
                                 void* user) noexcept {
  return guarded([&] {
    require_pointer(call, "duet_enqueue_rows_on: call");
    require_pointer(stream, "duet_enqueue_rows_on: stream");
    call->call.enqueue_rows(stream->stream, duet::bindings::multiply_by(multiply, user));
  });
}

const char* duet_call_algorithm(const duet_call* call) noexcept {
  return call == nullptr ? "" : call->algorithm.c_str();
}

duet_status duet_retire(duet_rank* rank, duet_call* call) noexcept {
  return guarded([&] {
    require_pointer(call, "duet_retire: call");
    const std::unique_ptr<duet_call> owned(call);
    require_pointer(rank, "duet_retire: rank");
    rank->run([&](duet::LocalRank& own) { own.retire(std::move(owned->call)); });
  });
}

void duet_call_drop(duet_call* call) noexcept { delete call; }
