// Copy loops of the widest instructions that this CPU has. Non-temporal stores save reading each
// cache line before it is written. On CPUs that avoid this read by themselves, other loops are as
// fast or faster. The loops share no code with the host device's own copy
// (device/host/copy_bytes.cc), which is compared with them.
#include "copy/cpu/peak.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "core/error.h"
#include "timing/sampler.h"

namespace duet {
namespace {

constexpr double kPeakDeadline = 120;  // seconds for filling one buffer, or for one copy
constexpr int kTries = 2;              // runs of each loop; the faster one counts
constexpr Fill kPeakPoison{FillKind::constant, 0xDB, 0, DType::fp32};

#define DUET_COPY_LOOP(NAME, TARGET, VECTOR, LOAD, STORE)                                        \
  __attribute__((target(TARGET))) void NAME(std::byte* to, const std::byte* from,                \
                                            std::size_t bytes) {                                 \
    for (std::size_t i = 0; i < bytes; i += CopyLoop::kStep) {                                   \
      _Pragma("GCC unroll 16") for (std::size_t j = 0; j < CopyLoop::kStep; j += sizeof(VECTOR)) \
          STORE(reinterpret_cast<VECTOR*>(to + i + j),                                           \
                LOAD(reinterpret_cast<const VECTOR*>(from + i + j)));                            \
    }                                                                                            \
    _mm_sfence();                                                                                \
  }

DUET_COPY_LOOP(stream_512, "avx512f", __m512i, _mm512_loadu_si512, _mm512_stream_si512)
DUET_COPY_LOOP(store_512, "avx512f", __m512i, _mm512_loadu_si512, _mm512_store_si512)
DUET_COPY_LOOP(stream_256, "avx2", __m256i, _mm256_loadu_si256, _mm256_stream_si256)
DUET_COPY_LOOP(store_256, "avx2", __m256i, _mm256_loadu_si256, _mm256_store_si256)
DUET_COPY_LOOP(stream_128, "sse2", __m128i, _mm_loadu_si128, _mm_stream_si128)
DUET_COPY_LOOP(store_128, "sse2", __m128i, _mm_loadu_si128, _mm_store_si128)

void move_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

void library_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

constexpr std::uint64_t kLeastBytes = 256 << 20;

bool held_against_peak(const Case& copy, std::int64_t bytes) {
  return copy.id.axes.text("kind") == name(CopyKind::local) &&
         copy.id.axes.number("bytes").value_or(0) >= bytes;
}

Measurement measure(Machine& machine, const CaseId& id, int threads,
                    const std::function<bool()>& stop) {
  Measurement result;
  result.id = id;
  Team team(machine, {0});
  const auto bytes = static_cast<std::uint64_t>(copy_peak_bytes(machine.device(0).info()));
  CopyPeakWork work(bytes, threads);
  result.cost = work.cost();
  result.sampling = Sampler(team, stop).measure(work, Mode());
  result.notes.emplace_back("loop", work.loop().name);
  return result;
}

}  // namespace

std::vector<CopyLoop> copy_loops() {
  std::vector<CopyLoop> loops{{"rep movsb", move_bytes}, {"memcpy", library_copy}};
  const auto add = [&loops](int bits, auto stream, auto store) {
    loops.push_back({fmt::format("non-temporal stores, {} bits", bits), stream});
    loops.push_back({fmt::format("ordinary stores, {} bits", bits), store});
  };
  if (__builtin_cpu_supports("avx512f")) {
    add(512, stream_512, store_512);
  } else if (__builtin_cpu_supports("avx2")) {
    add(256, stream_256, store_256);
  } else {
    add(128, stream_128, store_128);
  }
  return loops;
}

Cost CopyPeakWork::cost() const {
  Cost cost;
  cost.memory_bytes = 2.0 * static_cast<double>(bytes_);
  return cost;
}

void CopyPeakWork::prepare(Rank& rank, const Placement&) {
  source_ = rank.device.allocate(bytes_);
  destination_ = rank.device.allocate(bytes_);
  auto stream = rank.device.make_stream();
  stream->fill(source_.span(), payload());
  stream->fill(destination_.span(), kPeakPoison);
  double best = std::numeric_limits<double>::infinity();
  for (const CopyLoop& loop : copy_loops()) {
    for (int i = 0; i < kTries; ++i) {
      const double taken = seconds(rank.device, *stream, loop);
      if (taken >= best) continue;
      best = taken;
      loop_ = loop;
    }
  }
}

Fill CopyPeakWork::payload() const { return {FillKind::pattern, seed_, 0, DType::fp32}; }

double CopyPeakWork::seconds(Device& device, Stream& stream, const CopyLoop& loop) const {
  const auto begin = device.make_event(), end = device.make_event();
  stream.record(*begin);
  stream.run({name(), {}, [this, &loop] { copy(loop); }});
  stream.record(*end);
  stream.synchronize(kPeakDeadline);
  return end->seconds_since(*begin);
}

void CopyPeakWork::enqueue(Rank&, Stream& stream) {
  stream.run({name(), {}, [this] { copy(loop_); }});
}

// OpenMP's threads are bound to the device's cores, because the worker that starts them is.
void CopyPeakWork::copy(const CopyLoop& loop) const {
  std::byte* to = destination_.span().data;
  const std::byte* from = source_.span().data;
  const std::size_t steps = bytes_ / CopyLoop::kStep, threads = static_cast<std::size_t>(threads_);
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
  for (std::size_t part = 0; part < threads; ++part) {
    const std::size_t begin = steps * part / threads * CopyLoop::kStep;
    const std::size_t end = steps * (part + 1) / threads * CopyLoop::kStep;
    loop.run(to + begin, from + begin, end - begin);
  }
}

void CopyPeakWork::renew(Rank& rank) {
  ++seed_;
  auto stream = rank.device.make_stream();
  stream->fill(source_.span(), payload());
  stream->fill(destination_.span(), kPeakPoison);
  stream->synchronize(kPeakDeadline);
}

std::optional<Skipped> CopyPeakWork::verify(Rank& rank) {
  const auto difference = rank.device.check(destination_.span(), payload());
  if (!difference) return std::nullopt;
  throw Mismatch(fmt::format("{}: {} of {} bytes are wrong, the first at {}", loop_.name,
                             difference->count, bytes_, difference->first_offset));
}

void CopyPeakWork::release(Rank&) noexcept {
  source_.reset();
  destination_.reset();
}

// A multiple of CopyLoop::kStep.
std::int64_t copy_peak_bytes(const DeviceInfo& info) {
  const std::uint64_t bytes = std::max(kLeastBytes, 4 * info.cache_bytes);
  return static_cast<std::int64_t>(bytes / CopyLoop::kStep * CopyLoop::kStep);
}

std::optional<std::uint64_t> size_beyond_cache(const DeviceInfo& info,
                                               const std::vector<std::uint64_t>& sizes) {
  if (!info.is_cpu) return std::nullopt;
  const auto bytes = static_cast<std::uint64_t>(copy_peak_bytes(info));
  if (4 * bytes > info.memory_bytes) return std::nullopt;
  const auto reaches = [bytes](std::uint64_t size) { return size >= bytes; };
  if (std::any_of(sizes.begin(), sizes.end(), reaches)) return std::nullopt;
  return bytes;
}

Case copy_peak_case(Machine& machine, const std::string& device_name, Executor executor,
                    const std::function<bool()>& stop) {
  const DeviceInfo& info = machine.device(0).info();
  const CaseId id{"copy_peak",
                  device_name,
                  "nt-copy",
                  {{"executor", std::string(name(executor))}, {"bytes", copy_peak_bytes(info)}}};
  const int threads = executor == Executor::kernel ? info.compute_units : 1;
  return {id, [&machine, id, threads, stop] { return measure(machine, id, threads, stop); },
          Mode()};
}

std::vector<Case> copy_peak_cases(Machine& machine, const CopyOptions& options,
                                  const std::vector<Case>& copies,
                                  const std::function<bool()>& stop) {
  std::vector<Case> cases;
  const DeviceInfo& info = machine.device(0).info();
  if (!info.is_cpu) return cases;
  const std::int64_t bytes = copy_peak_bytes(info);
  const auto held = [bytes](const Case& copy) { return held_against_peak(copy, bytes); };
  if (std::none_of(copies.begin(), copies.end(), held)) return cases;
  for (Executor executor : options.executors) {
    cases.push_back(copy_peak_case(machine, options.device_name, executor, stop));
  }
  return cases;
}

}  // namespace duet
