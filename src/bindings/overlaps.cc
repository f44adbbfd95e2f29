// Compute beside collectives.
#include <fmt/format.h>

#include <vector>

#include "bindings/handles.h"
#include "bindings/status.h"
#include "overlap/policy.h"

namespace duet::bindings {
namespace {

OverlapPolicy policy_of(const char* text) {
  const auto policies = parse_policies(text == nullptr ? "dma" : text);
  if (policies.size() == 1) return policies.front();
  throw UsageError(fmt::format("policy {}: expected one", text));
}

OverlapWork work_of(duet_comm& comm, const duet_overlap_work& given) {
  if ((given.call == nullptr) == (given.enqueue == nullptr)) {
    throw BadArgument("duet_overlap_work: expected a call or a function");
  }
  if (given.call != nullptr) {
    return {given.workgroups, [call = given.call](Stream& on) { call->call.enqueue(on); }};
  }
  return {given.workgroups, [&comm, enqueue = given.enqueue, user = given.user](Stream& on) {
            duet_stream lent(comm, on);
            std::int32_t done = 0;
            enqueue(user, &lent, &done);
            if (done != 1) throw Error("a work: the program's function failed");
          }};
}

std::vector<OverlapWork> works_of(duet_comm& comm, const duet_overlap_work* works,
                                  std::int32_t count) {
  if (count < 0) throw BadArgument(fmt::format("{} works: expected 0 or more", count));
  std::vector<OverlapWork> all;
  const auto* at = reinterpret_cast<const unsigned char*>(works);
  for (std::int32_t i = 0; i < count; ++i) {
    const auto* const given = reinterpret_cast<const duet_overlap_work*>(at);
    all.push_back(work_of(comm, read_struct(given, "duet_overlap_work")));
    at += given->size;
  }
  return all;
}

}  // namespace
}  // namespace duet::bindings

using duet::bindings::guarded;
using duet::bindings::require_pointer;

duet_status duet_overlap_open(duet_rank* rank, const char* policy, int32_t works,
                              duet_overlap** overlap) noexcept {
  return guarded([&] {
    require_pointer(rank, "duet_overlap_open: rank");
    require_pointer(overlap, "duet_overlap_open: overlap");
    *overlap = nullptr;
    *overlap = std::make_unique<duet_overlap>(*rank, duet::bindings::policy_of(policy),
                                              works == 0 ? 2 : works)
                   .release();
  });
}

duet_status duet_overlap_begin(duet_overlap* overlap, duet_call* call,
                               void* native_stream) noexcept {
  return guarded([&] {
    require_pointer(overlap, "duet_overlap_begin: overlap");
    require_pointer(call, "duet_overlap_begin: call");
    overlap->overlap.begin(native_stream, call->call);
  });
}

duet_status duet_overlap_begin_on(duet_overlap* overlap, duet_call* call,
                                  duet_stream* stream) noexcept {
  return guarded([&] {
    require_pointer(overlap, "duet_overlap_begin_on: overlap");
    require_pointer(call, "duet_overlap_begin_on: call");
    require_pointer(stream, "duet_overlap_begin_on: stream");
    overlap->overlap.begin(stream->stream, call->call);
  });
}

duet_status duet_overlap_end(duet_overlap* overlap) noexcept {
  return guarded([&] {
    require_pointer(overlap, "duet_overlap_end: overlap");
    overlap->overlap.end();
  });
}

duet_status duet_overlap_enqueue(duet_overlap* overlap, const duet_overlap_work* works,
                                 int32_t count, void* native_stream) noexcept {
  return guarded([&] {
    require_pointer(overlap, "duet_overlap_enqueue: overlap");
    overlap->overlap.enqueue(native_stream, duet::bindings::works_of(overlap->comm, works, count));
  });
}

duet_status duet_overlap_enqueue_on(duet_overlap* overlap, const duet_overlap_work* works,
                                    int32_t count, duet_stream* stream) noexcept {
  return guarded([&] {
    require_pointer(overlap, "duet_overlap_enqueue_on: overlap");
    require_pointer(stream, "duet_overlap_enqueue_on: stream");
    overlap->overlap.enqueue(stream->stream, duet::bindings::works_of(overlap->comm, works, count));
  });
}

void duet_overlap_close(duet_overlap* overlap) noexcept { delete overlap; }

duet_status duet_overlap_engine(const char* policy, const char* device,
                                duet_text** engine) noexcept {
  return guarded([&] {
    require_pointer(device, "duet_overlap_engine: device");
    require_pointer(engine, "duet_overlap_engine: engine");
    *engine = nullptr;
    *engine = new duet_text{duet::engine_of(duet::bindings::policy_of(policy), device)};
  });
}
