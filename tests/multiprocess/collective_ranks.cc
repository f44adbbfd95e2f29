// One process of a run, for collectives.sh, own_memory.sh and dead_rank.sh: collective_ranks ENGINE
// DEVICE [fail | own | '[own ]loop COLLECTIVE']. Runs every collective of the engine and compares
// all bytes with the definitions in collective.h.
//   own   uses memory of the program's own, which other processes cannot map
//   fail  the last rank fails while the others wait for it
//   loop  repeats one collective until a process is gone
// The exit code is 0 if every check holds.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <thread>

#include "collectives/engine.h"

namespace {

using namespace duet;
using Bytes = std::vector<std::byte>;

constexpr double kDeadlineSeconds = 30;

// An element that a rank contributes to a reduction: so small an integer that sums are exact in any
// order.
int digit(int rank, std::uint64_t element) {
  return static_cast<int>((element + 3 * static_cast<std::uint64_t>(rank)) % 31) - 15;
}

void put(Bytes& bytes, DType dtype, std::uint64_t element, int value) {
  std::byte* place = bytes.data() + element * size_of(dtype);
  if (dtype == DType::int32) {
    std::memcpy(place, &value, sizeof value);
  } else {
    store(dtype, place, static_cast<float>(value));
  }
}

// The bytes that a rank sends.
Bytes sent(const Collective& one, int rank, int ranks) {
  Bytes bytes(send_bytes(one, rank, ranks));
  for (std::uint64_t i = 0; i < bytes.size() / size_of(one.dtype) && reduces(one.kind); ++i) {
    put(bytes, one.dtype, i, digit(rank, i));
  }
  for (std::uint64_t i = 0; i < bytes.size() && !reduces(one.kind); ++i) {
    bytes[i] = static_cast<std::byte>(static_cast<unsigned>(rank) * 37 + i * 7 + (i >> 8));
  }
  return bytes;
}

int reduced(const Collective& one, std::uint64_t element, int ranks) {
  int result = digit(0, element);
  for (int rank = 1; rank < ranks; ++rank) {
    const int value = digit(rank, element);
    result = one.op == Reduction::max   ? std::max(result, value)
             : one.op == Reduction::min ? std::min(result, value)
                                        : result + value;
  }
  return result;
}

constexpr std::byte kPoison{0xEE};

// What a call leaves in the receive buffer.
Bytes expected(const Collective& one, int rank, int ranks, bool in_place) {
  Bytes bytes(recv_bytes(one, rank, ranks), kPoison);
  if (one.kind == CollectiveKind::neighbor_exchange && in_place) {
    const Bytes own = sent(one, rank, ranks);
    std::memcpy(bytes.data() + in_place_offset(one, rank), own.data(), own.size());
  }
  if (reduces(one.kind)) {
    const std::uint64_t first = one.kind == CollectiveKind::reduce_scatter
                                    ? one.count * static_cast<std::uint64_t>(rank)
                                    : 0;
    for (std::uint64_t i = 0; i < one.count; ++i) {
      put(bytes, one.dtype, i, reduced(one, first + i, ranks));
    }
    return bytes;
  }
  for (const Move& move : moves(one, ranks)) {
    if (move.to != rank) continue;
    const Bytes theirs = sent(one, move.from, ranks);
    std::memcpy(bytes.data() + move.to_offset, theirs.data() + move.from_offset, move.bytes);
  }
  return bytes;
}

// A rank's buffers; in place, if asked for, where the rank has both.
CollectiveBuffers buffers_of(const Collective& one, const Rank& rank, const Span& send,
                             const Span& recv, bool in_place) {
  const std::uint64_t offset = in_place_offset(one, rank.index);
  if (!in_place || send.bytes == 0 || recv.bytes == 0) return {send, recv};
  if (send.bytes > recv.bytes) return {send, send.slice(offset, recv.bytes)};
  return {recv.slice(offset, send.bytes), recv};
}

class OwnMemory : public CollectiveMemory {
 public:
  OwnMemory(Device& device, std::uint64_t bytes) : bytes_(bytes) {
    if (bytes > 0) span_ = device.adopt(bytes_.data(), bytes);
  }
  Span span() const override { return span_; }

 private:
  Bytes bytes_;
  Span span_;
};

struct Way {
  bool in_place = false;
  bool own = false;  // in memory of the program's own
};

std::unique_ptr<CollectiveMemory> memory(CollectiveSession& session, Rank& rank, bool own,
                                         std::uint64_t bytes) {
  if (own) return std::make_unique<OwnMemory>(rank.device, bytes);
  return session.allocate(rank, bytes);
}

void run_once(CollectiveSession& session, Rank& rank, const Collective& one, const Way& way) {
  const bool in_place = way.in_place;
  const auto send = memory(session, rank, way.own, send_bytes(one, rank.index, rank.size));
  const auto recv = memory(session, rank, way.own, recv_bytes(one, rank.index, rank.size));
  const CollectiveBuffers buffers = buffers_of(one, rank, send->span(), recv->span(), in_place);
  const auto plan = session.plan(rank, one, buffers);
  if (way.own && plan->algorithm().find(" slots") == std::string::npos) {
    throw Error(fmt::format("{}: expected slots, not {}", name(one.kind), plan->algorithm()));
  }
  const auto stream = rank.device.make_stream();
  const Bytes input = sent(one, rank.index, rank.size);
  for (int repeat = 0; repeat < 3; ++repeat) {
    if (recv->span().bytes > 0) {
      const Bytes poison(recv->span().bytes, kPoison);
      rank.device.write(recv->span(), poison.data());
    }
    if (!input.empty()) rank.device.write(buffers.send, input.data());
    rank.team.barrier("all ranks to have filled their buffers");
    plan->enqueue(*stream);
    stream->synchronize(kDeadlineSeconds);
    Bytes output(buffers.recv.bytes);
    if (!output.empty()) rank.device.read(buffers.recv, output.data());
    if (output != expected(one, rank.index, rank.size, in_place)) {
      throw Mismatch(fmt::format("{} of {} x {}, {}, {}: wrong on rank {}, by {}", name(one.kind),
                                 one.count, name(one.dtype), name(one.op),
                                 in_place ? "in place" : "out of place", rank.index,
                                 plan->algorithm()));
    }
  }
  rank.team.barrier("all ranks to be done with a plan");
}

// Counts of an all_to_all_v: rank f has (f + 2 t) % 5 times `unit` elements for rank t.
std::vector<std::uint64_t> skewed(int ranks, std::uint64_t unit) {
  std::vector<std::uint64_t> counts;
  for (int pair = 0; pair < ranks * ranks; ++pair) {
    counts.push_back(static_cast<std::uint64_t>((pair / ranks + 2 * (pair % ranks)) % 5) * unit);
  }
  return counts;
}

std::vector<Collective> list(int ranks) {
  std::vector<Collective> all;
  for (const CollectiveKind kind : all_collectives()) {
    for (const DType dtype : {DType::int8, DType::fp32, DType::int32, DType::bf16}) {
      if (reduces(kind) ? dtype == DType::int8 : dtype != DType::int8) continue;
      for (const Reduction op : {Reduction::sum, Reduction::max, Reduction::min}) {
        if (!reduces(kind) && op != Reduction::sum) continue;
        for (const std::uint64_t count : {1, 1000, 300001}) {
          const auto skew = kind == CollectiveKind::all_to_all_v ? skewed(ranks, count)
                                                                 : std::vector<std::uint64_t>{};
          all.push_back({kind, dtype, op, count, ranks - 1, skew});
        }
      }
    }
  }
  return all;
}

void run_all(Team& team, CollectiveSession& session, bool own) {
  int ran = 0;
  for (const Collective& one : list(team.size())) {
    for (const bool in_place : {false, true}) {
      if (session.unsupported(one, in_place)) continue;
      team.each([&](Rank& rank) { run_once(session, rank, one, {in_place, own}); });
      ++ran;
    }
  }
  if (team.first_local() == 0) std::printf("%d collectives\n", ran);
  if (ran == 0) throw Error("nothing ran");
}

// The last rank fails. The other ranks must get its error within 5 s, before their deadline.
void fail_once(Team& team, CollectiveSession& session) {
  Collective one;
  one.kind = CollectiveKind::all_reduce;
  one.count = 1000;
  const auto start = std::chrono::steady_clock::now();
  try {
    team.each([&](Rank& rank) {
      const auto buffer = session.allocate(rank, 4000);
      const auto plan = session.plan(rank, one, {buffer->span(), buffer->span()});
      if (rank.index == rank.size - 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        throw Error("on purpose");
      }
      const auto stream = rank.device.make_stream();
      plan->enqueue(*stream);
      stream->synchronize(kDeadlineSeconds);
    });
  } catch (const Error& error) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (std::string(error.what()).find("on purpose") == std::string::npos) throw;
    if (took.count() > 5) throw Error(fmt::format("took {:.1f} s to notice", took.count()));
    return;
  }
  throw Error("a failed rank was not noticed");
}

// Repeats a collective. The ranks synchronise on their devices alone; the CPU waits only every
// kAhead calls. A broadcast is large enough to be forwarded in pieces.
void loop(Team& team, CollectiveSession& session, const std::string& word, bool own) {
  constexpr int kAhead = 5;
  Collective one;
  one.kind = parse_collective(word);
  one.count = one.kind == CollectiveKind::broadcast ? 4 << 20 : 1000;
  team.each([&](Rank& rank) {
    const auto send = memory(session, rank, own, send_bytes(one, rank.index, rank.size));
    const auto recv = memory(session, rank, own, recv_bytes(one, rank.index, rank.size));
    const auto plan = session.plan(rank, one, {send->span(), recv->span()});
    const auto stream = rank.device.make_stream();
    for (bool said = false;; said = true) {
      for (int call = 0; call < kAhead; ++call) plan->enqueue(*stream);
      stream->synchronize(kDeadlineSeconds);
      if (!said) std::printf("looping as pid %d\n", static_cast<int>(getpid()));
      std::fflush(stdout);
    }
  });
}

int run(const std::string& name, const std::string& device, const std::string& way) {
  const auto processes = Processes::find(10);
  const auto machine = open_machine(device);
  std::vector<int> devices;
  if (processes->size() > 1 && machine->size() > 1 && processes->local_index()) {
    devices = {*processes->local_index() % machine->size()};
  }
  Team team(*machine, devices, processes.get());
  const CollectiveEngines found = collective_engines(machine->device(0).info().kind);
  for (CollectiveEngine* engine : found.engines) {
    if (engine->name() != name) continue;
    const auto session = engine->open(team);
    const bool own = way.rfind("own", 0) == 0;
    const std::string word = "loop ";
    const std::size_t loops = way.find(word);
    if (way.empty() || way == "own") run_all(team, *session, own);
    if (way == "fail") fail_once(team, *session);
    if (loops != std::string::npos) loop(team, *session, way.substr(loops + word.size()), own);
    return 0;
  }
  for (const auto& [module, reason] : found.unavailable) {
    std::fprintf(stderr, "%s: %s\n", module.c_str(), reason.c_str());
  }
  throw UsageError("no engine '" + name + "'");
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count < 3)
      throw UsageError(
          "usage: collective_ranks ENGINE DEVICE [fail | own | '[own ]loop COLLECTIVE']");
    return run(arguments[1], arguments[2], count > 3 ? arguments[3] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
