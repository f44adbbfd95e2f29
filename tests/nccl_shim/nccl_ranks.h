// What the parts of nccl_ranks.cc are made of.
#pragma once

#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fake_gpu/cuda/host_gpu.h"
#include "fake_gpu/nccl/nccl_calls.h"

namespace nccl_ranks {

constexpr std::size_t kSmall = 64, kLarge = 8192;
extern int failures;  // of this process, so far

void expect(bool met, const std::string& what);
void must(ncclResult_t result, const char* call);  // or ends the process

// One all-gather whose send buffer a kernel fills and whose result a kernel checks.
struct Step {
  int rank, ranks, number;
  std::size_t bytes;
  unsigned char *send, *receive;
  bool owns_buffers = true;

  Step(int own, int all, int of, std::size_t part)
      : rank(own),
        ranks(all),
        number(of),
        bytes(part),
        send(static_cast<unsigned char*>(host_gpu_allocate(part))),
        receive(
            static_cast<unsigned char*>(host_gpu_allocate(part * static_cast<std::size_t>(all)))) {}
  Step(int own, int all, int of, std::size_t part, void* from, void* to)
      : rank(own),
        ranks(all),
        number(of),
        bytes(part),
        send(static_cast<unsigned char*>(from)),
        receive(static_cast<unsigned char*>(to)),
        owns_buffers(false) {}
  ~Step() {
    if (!owns_buffers) return;
    host_gpu_free(send);
    host_gpu_free(receive);
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  unsigned char value(int of) const { return static_cast<unsigned char>(16 * number + of + 1); }
  void fill(void* stream) {
    host_gpu_launch(
        stream,
        [](void* step) {
          auto* self = static_cast<Step*>(step);
          std::memset(self->send, self->value(self->rank), self->bytes);
        },
        this);
  }
  void gather(ncclComm_t comm, void* stream) {
    must(ncclAllGather(send, receive, bytes, duet::nccl::kUint8, comm, stream), "ncclAllGather");
  }
  void check(void* stream) {
    host_gpu_launch(
        stream,
        [](void* step) {
          const auto* self = static_cast<Step*>(step);
          for (std::size_t i = 0; i < self->bytes * static_cast<std::size_t>(self->ranks); ++i) {
            if (self->receive[i] == self->value(static_cast<int>(i / self->bytes))) continue;
            expect(false, "data of step " + std::to_string(self->number));
            return;
          }
        },
        this);
  }
};

struct Rank {
  int rank, ranks;
  ncclComm_t comm;
  std::vector<void*> streams;

  void synchronise() const {
    for (void* each : streams) host_gpu_synchronise(each);
  }
};

// Small and large calls in turn, on the first `streams` streams in turn.
void calls(const Rank& of, std::size_t streams, int count = 12);
void split(const Rank& of, duet::nccl::Config* config = nullptr);
void shrink(const Rank& of, int excluded, int flags);
ncclResult_t state_of(ncclComm_t comm);
void wait_until_done(ncclComm_t comm);  // of a nonblocking one

// Parts: those with groups,
void group(const Rank& of);
void group_of_two(const Rank& of);
void simulated(const Rank& of);
void refused_in_group(const Rank& of);
void window_refused_in_group(const Rank& of);
void together(const Rank& of, ncclUniqueId id, bool alike);
void split_together(const Rank& of);

// those with messages,
void messages(const Rank& of);
void messages_in_groups(const std::vector<Rank>& all);  // of one thread
void killed_in_message(const Rank& of);
void messages_nonblocking(const Rank& of);
void messages_captured(const Rank& of);
void grouped_all_to_all(const Rank& of);

// those in which ranks end,
void forked(const Rank& of, ncclUniqueId id);
void last_error(const Rank& of);
void killed(const Rank& of);
void killed_behind(const Rank& of);
void killed_and_shrunk(const Rank& of);
void killed_in_launch(const Rank& of);
void killed_at_once(const Rank& of);
void restarted(const Rank& of, ncclUniqueId id);
void aborted_behind_copy(const Rank& of, std::size_t bytes);
void failed_device(const Rank& of);

// those of one thread,
enum class By { init, init_all, split, init_then_rank_by_rank, messages };
int one_thread(int ranks, const ncclUniqueId& id, By by);

// those of buffers that are in segments (host_vmm.h),
void segments(const Rank& of);
void segments_remapped(const Rank& of);
void segments_not_exportable(const Rank& of);
void segments_few_descriptors(const Rank& of);
void use_up_descriptors(int left);  // but for `left` of those that may be lent
void segments_refused(const Rank& of);
void segments_come_and_go(const Rank& of);
void killed_with_segments(const Rank& of);
int segments_of_one_thread(int ranks, const ncclUniqueId& id);

// and those of nonblocking communicators.
void create_nonblocking(Rank& of, const ncclUniqueId& id, duet::nccl::Config* config,
                        const std::string& part);
void create_with_stopped(Rank& of, const ncclUniqueId& id, duet::nccl::Config* config);
int abort_creation(Rank& of, const ncclUniqueId& id, duet::nccl::Config* config);
void finalize_nonblocking(const Rank& of);

}  // namespace nccl_ranks
