// Host versions of device/gpu's kernels: what each does to memory, by one thread of the CPU. They
// take the place of the .cu files in the module that runs on the stand-in.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/packets.h"
#include "device/contents.h"
#include "device/digits.h"
#include "device/gpu/kernels.h"
#include "device/reduce.h"
#include "fake_gpu/hip/runtime.h"
#include "gemm/gpu/reference.h"

namespace duet::hip {
namespace {

using Word = std::uint64_t;
constexpr std::size_t kWord = sizeof(Word);

// Memory as a kernel of one device sees it: access to what the device does not reach ends the
// process.
class View {
 public:
  explicit View(int device) : device_(device) {}

  template <typename T>
  T* at(T* data, std::size_t bytes, const char* what) const {
    fake_gpu::require_reach(device_, data, bytes, what);
    return data;
  }
  std::byte* bytes(const void* data, std::size_t bytes, const char* what) const {
    return at(static_cast<std::byte*>(const_cast<void*>(data)), bytes, what);
  }
  // Bytes that the kernel writes.
  std::byte* to(const void* data, std::size_t length, const char* what) const {
    fake_gpu::memory().write_by(device_, data, length);
    return bytes(data, length, what);
  }
  Word load(const Word* word) const {
    return __atomic_load_n(at(word, kWord, "a kernel's load of a word"), __ATOMIC_ACQUIRE);
  }
  void store(Word* word, Word value) const {  // a release to system scope
    fake_gpu::memory().release_to_system(device_);
    __atomic_store_n(at(word, kWord, "a kernel's store of a word"), value, __ATOMIC_RELEASE);
  }
  void wait(const Word* word, Word value) const {
    fake_gpu::require_coherent(word, "a kernel waits for a word");
    while (load(word) < value) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  int device_;
};

void launch_on_host(gpuStream_t stream, std::function<void(const View&)> kernel) {
  DUET_GPU_CHECK(
      fake_gpu::launch(stream, [kernel = std::move(kernel)](int device) { kernel(View(device)); }));
}

std::size_t whole_elements(const Span& span, const Fill& fill) {
  const bool elements = fill.kind == FillKind::normal || is_digits(fill);
  return elements ? span.bytes - span.bytes % size_of(fill.dtype) : span.bytes;
}

// How a kernel reduces.
struct Reducing {
  DType dtype = DType::fp32;
  Reduction op = Reduction::sum;
};

// An item of a collective kernel: its addresses are sources, then destinations.
struct Item {
  unsigned char* const* addresses = nullptr;
  std::size_t sources = 0, destinations = 0, bytes = 0;
  std::uint32_t divisor = 0;  // of an average; 0: the number of sources
};

void run_item(const View& view, const Item& item, const Reducing& how) {
  if (item.bytes == 0 || item.sources == 0) return;
  std::vector<const std::byte*> sources;
  for (std::size_t i = 0; i < item.sources; ++i) {
    sources.push_back(view.bytes(item.addresses[i], item.bytes, "a kernel's source"));
  }
  std::vector<std::byte> result(item.bytes);
  if (item.sources == 1) {
    std::memcpy(result.data(), sources[0], item.bytes);
  } else {
    reduce(how.dtype, how.op, sources, result.data(), item.bytes / size_of(how.dtype),
           item.divisor);
  }
  for (std::size_t i = 0; i < item.destinations; ++i) {
    unsigned char* const to = item.addresses[item.sources + i];
    std::memcpy(view.to(to, item.bytes, "a kernel's destination"), result.data(), item.bytes);
  }
}

// Whole kernels do what blocks do each for a part, so a semaphore by block is all its words.
void run_local(const View& view, const gpu::LocalKernelTable& table, const Reducing& how,
               int blocks) {
  const int words = table.semaphores_by_block ? blocks : 1;
  for (int i = 0; i < table.item_count; ++i) {
    const gpu::LocalTableItem item = table.items[i];
    unsigned char* const* const spans = table.addresses + item.first;
    auto* const* const waits =
        reinterpret_cast<Word* const*>(spans + item.sources + item.destinations);
    for (std::uint32_t k = 0; k < item.waits; ++k) {
      for (int word = 0; word < words; ++word) view.wait(waits[k] + word, 1);
    }
    run_item(view, {spans, item.sources, item.destinations, item.bytes, item.divisor}, how);
    for (std::uint32_t k = 0; k < item.waits + item.signals; ++k) {
      for (int word = 0; word < words; ++word) view.store(waits[k] + word, k < item.waits ? 0 : 1);
    }
  }
}

template <typename Table>
void meet(const View& view, const Table& table, Word value, int blocks) {
  for (int peer = 0; peer < table.peers; ++peer) {
    for (int block = 0; block < blocks; ++block) view.store(table.arrivals[peer] + block, value);
  }
  for (int peer = 0; peer < table.peers; ++peer) {
    for (int block = 0; block < blocks; ++block) view.wait(table.awaits[peer] + block, value);
  }
}

template <typename Table>
void run_peer(const View& view, const Table& table, const Reducing& how, int blocks) {
  const Word call = view.load(table.calls);
  if (table.opens) meet(view, table, 2 * call + 1, blocks);
  for (int i = 0; i < table.move_count; ++i) {
    const auto& move = table.moves[i];
    unsigned char* const ends[] = {table.addresses[move.source], table.addresses[move.destination]};
    run_item(view, {ends, 1, 1, move.bytes}, how);
  }
  for (int i = 0; i < table.reduction_count; ++i) {
    const auto& item = table.reductions[i];
    run_item(view, {table.addresses + item.first, item.sources, item.destinations, item.bytes},
             how);
  }
  if (table.closes) meet(view, table, 2 * call + 2, blocks);
  view.store(table.calls, call + 1);
}

constexpr std::size_t kHalf = 4;  // bytes of data in a word: number of the call << 32 | data

// Here all packets have numbers.
std::size_t bytes_of_turn(const gpu::PacketTable& table) {
  return gpu::turn_bytes(table.bytes, true);
}

void send_packets(const View& view, const gpu::PacketTable& table, std::uint32_t peer,
                  std::uint32_t number) {
  const std::byte* const data =
      view.bytes(table.peers[peer].source, table.bytes, "a packet kernel's source");
  auto* const words =
      reinterpret_cast<Word*>(table.peers[peer].to + number % 2 * bytes_of_turn(table));
  for (std::size_t at = 0; at < bytes_of_turn(table) / 2; at += kHalf) {
    std::uint32_t half = 0;
    if (at < table.bytes) std::memcpy(&half, data + at, std::min(kHalf, table.bytes - at));
    view.store(words + at / kHalf, Word{number} << 32 | half);
  }
}

// False where the peer has failed.
bool receive_packets(const View& view, const gpu::PacketKernelTable& table, std::uint32_t peer,
                     std::uint32_t number, std::byte* to) {
  const gpu::PacketTable& exchange = table.exchange;
  const auto* const words = reinterpret_cast<const Word*>(exchange.peers[peer].from +
                                                          number % 2 * bytes_of_turn(exchange));
  fake_gpu::require_coherent(words, "a kernel waits for packets");
  for (std::size_t at = 0; at < bytes_of_turn(exchange) / 2; at += kHalf) {
    Word word = 0;
    while ((word = view.load(words + at / kHalf)) >> 32 != number) {
      if (view.load(table.failed[peer]) != 0) return false;
      std::this_thread::yield();
    }
    const auto half = static_cast<std::uint32_t>(word);
    if (at < exchange.bytes) std::memcpy(to + at, &half, std::min(kHalf, exchange.bytes - at));
  }
  return true;
}

void run_norm(const View& view, const gpu::NormRows& of, DType dtype,
              const std::vector<const std::byte*>& sources) {
  const std::size_t row = of.units * kPacketDataBytes, bytes = row * of.rows;
  const auto span = [](const std::byte* data, std::size_t size) {
    return Span{nullptr, const_cast<std::byte*>(data), size};
  };
  NormKernel kernel;
  kernel.dtype = dtype;
  for (const std::byte* source : sources) kernel.sources.push_back(span(source, bytes));
  kernel.result = span(view.to(of.result, bytes, "a norm's result"), bytes);
  kernel.norm = {span(view.bytes(of.residual, bytes, "a norm's residual"), bytes),
                 span(view.to(of.updated, bytes, "a norm's residual"), bytes),
                 span(view.bytes(of.weight, row, "a norm's weight"), row), row / size_of(dtype),
                 of.epsilon};
  normalise_rows(kernel, 0, of.rows);
}

void run_packets(const View& view, const gpu::PacketKernelTable& kernel, bool reduces,
                 const Reducing& how) {
  const gpu::PacketTable& table = kernel.exchange;
  if (table.aligned != gpu::has_aligned_parts(table)) throw Error("parts that are not as said");
  auto* const last = reinterpret_cast<std::uint32_t*>(
      view.to(table.last, table.places * sizeof *table.last, "a packet kernel's numbers"));
  const std::uint32_t number = next_packet_number(*last);
  std::fill_n(last, table.places, number);
  for (std::uint32_t i = 0; i < table.count; ++i) send_packets(view, table, i, number);
  std::vector<std::vector<std::byte>> arrived;
  for (std::uint32_t i = 0; i < table.count; ++i) {
    arrived.emplace_back(table.bytes);
    if (!receive_packets(view, kernel, i, number, arrived.back().data())) return;
  }
  std::byte* const own = view.to(table.result, table.bytes, "a packet kernel's destination");
  const std::byte* const source = view.bytes(table.own, table.bytes, "a packet kernel's source");
  if (!reduces) {
    std::memmove(own, source, table.bytes);
    for (std::uint32_t i = 0; i < table.count; ++i) {
      std::memcpy(view.to(table.peers[i].target, table.bytes, "a packet kernel's destination"),
                  arrived[i].data(), table.bytes);
    }
    return;
  }
  std::vector<const std::byte*> sources;
  for (const std::vector<std::byte>& part : arrived) sources.push_back(part.data());
  sources.insert(sources.begin() + table.rank, source);
  if (kernel.norm.rows > 0) return run_norm(view, kernel.norm, how.dtype, sources);
  reduce(how.dtype, how.op, sources, own, table.bytes / size_of(how.dtype));
}

}  // namespace

// There is no code to load.
void load_copy_kernels() {}
void load_fill_kernels() {}
void load_digit_kernels() {}
void load_local_kernels() {}
void load_peer_kernels() {}
void load_packet_kernels() {}
bool load_norm_kernels() { return false; }
void load_push_kernel() {}

void launch_copy(const Copy& copy, gpuStream_t stream) {
  launch_on_host(stream, [copy](const View& view) {
    const std::size_t bytes = copy.source.bytes;
    std::memcpy(view.to(copy.destination.data, bytes, "a copy kernel's destination"),
                view.bytes(copy.source.data, bytes, "a copy kernel's source"), bytes);
  });
}

void launch_fill(const Span& span, const Fill& fill, gpuStream_t stream) {
  launch_on_host(stream, [span, fill](const View& view) {
    const std::size_t bytes = whole_elements(span, fill);
    write_fill(fill, view.to(span.data, bytes, "a fill"), 0, bytes);
  });
}

void launch_check(const Span& span, const Fill& fill, Difference* found, gpuStream_t stream) {
  launch_on_host(stream, [span, fill, found](const View& view) {
    const std::size_t bytes = whole_elements(span, fill);
    const Difference now = compare_fill(fill, view.bytes(span.data, bytes, "a check"), 0, bytes);
    if (now.count == 0) return;
    Difference* const all = view.at(found, sizeof *found, "a check's result");
    all->count += now.count;
    all->first_offset = std::min(all->first_offset, now.first_offset);
  });
}

void launch_compare(const Span& span, const Span& other, Difference* found, gpuStream_t stream) {
  launch_on_host(stream, [span, other, found](const View& view) {
    const Difference now =
        compare_bytes(view.bytes(span.data, span.bytes, "a comparison"),
                      view.bytes(other.data, span.bytes, "a comparison"), span.bytes);
    if (now.count == 0) return;
    Difference* const all = view.at(found, sizeof *found, "a comparison's result");
    all->count += now.count;
    all->first_offset = std::min(all->first_offset, now.first_offset);
  });
}

void launch_local_kernel(const gpu::LocalKernelTable& table, DType dtype, Reduction op, int blocks,
                         gpuStream_t stream) {
  launch_on_host(stream, [table, how = Reducing{dtype, op}, blocks](const View& view) {
    run_local(view, table, how, blocks);
  });
}

void launch_peer_kernel(const gpu::FewPeersTable& table, DType dtype, Reduction op, int blocks,
                        gpuStream_t stream) {
  launch_on_host(stream, [table, how = Reducing{dtype, op}, blocks](const View& view) {
    run_peer(view, table, how, blocks);
  });
}

void launch_peer_kernel(const gpu::ManyPeersTable& table, DType dtype, Reduction op, int blocks,
                        gpuStream_t stream) {
  launch_on_host(stream, [table, how = Reducing{dtype, op}, blocks](const View& view) {
    run_peer(view, table, how, blocks);
  });
}

void launch_packet_kernel(const gpu::PacketKernelTable& table, const gpu::PacketUse& use,
                          gpuStream_t stream) {
  launch_on_host(stream, [table, use](const View& view) {
    run_packets(view, table, use.reduces, Reducing{use.dtype, use.op});
  });
}

void launch_packet_norm_kernel(const gpu::PacketKernelTable& table, const gpu::PacketUse& use,
                               gpuStream_t stream) {
  launch_packet_kernel(table, use, stream);
}

void launch_norm_kernel(const gpu::NormTable& table, DType dtype, unsigned, gpuStream_t stream) {
  launch_on_host(stream, [table, dtype](const View& view) {
    const std::size_t bytes = kPacketDataBytes * table.norm.units * table.norm.rows;
    std::vector<const std::byte*> sources;
    for (std::uint32_t i = 0; i < table.count; ++i)
      sources.push_back(view.bytes(table.sources[i], bytes, "a norm's source"));
    run_norm(view, table.norm, dtype, sources);
  });
}

// GEMM's reference: rows of A x B in double.
void launch_reference(const GemmProblem& problem, const GemmBuffers& buffers,
                      const ReferenceRows& rows, double* out, gpuStream_t stream) {
  launch_on_host(stream, [problem, buffers, rows, out](const View& view) {
    const GemmProblem& p = problem;
    const std::size_t size = size_of(p.dtype);
    const std::byte* const a = view.bytes(buffers.a.data, buffers.a.bytes, "a reference's A");
    const std::byte* const b = view.bytes(buffers.b.data, buffers.b.bytes, "a reference's B");
    const auto value = [&](const std::byte* data, std::int64_t i) {
      return static_cast<double>(load(p.dtype, data + static_cast<std::size_t>(i) * size));
    };
    for (std::int64_t i = 0; i < rows.count; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const std::int64_t row = rows.row[i];
          sum += value(a, p.layout == Layout::tn ? k * p.m + row : row * p.k + k) *
                 value(b, p.layout == Layout::nt ? j * p.k + k : k * p.n + j);
        }
        out[i * p.n + j] = sum;
      }
    }
  });
}

void launch_pushes(const CommandPushes&, gpuStream_t) {
  throw Unavailable("the stand-in has no host version of the kernel that pushes commands");
}

}  // namespace duet::hip
