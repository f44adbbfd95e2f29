#include "halo/gpu/sweeper.h"

#include "halo/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

// Rows of a tile. A tile loads two rows more than it computes; with few rows neighbours run at
// about the same time and find them in the cache, and small grids have enough blocks for all units.
// The most are the fastest of large grids on an H200 (bench/halo_sweep.cu).
constexpr int kMostTileRows = 8, kFewestTileRows = 4;
constexpr std::int64_t kBlocksPerUnit = 16;

float* floats(const Span& span) { return reinterpret_cast<float*>(span.data); }
double* doubles(const Span& span) { return reinterpret_cast<double*>(span.data); }
std::uint64_t* word(const Span& span) { return reinterpret_cast<std::uint64_t*>(span.data); }

int tile_rows_for(const FieldShape& shape, std::int64_t rows, int units) {
  int tile = kMostTileRows;
  while (tile > kFewestTileRows && column_blocks(shape.nx) * rows / tile < kBlocksPerUnit * units) {
    tile /= 2;
  }
  return tile;
}

SweepTiles tiles_of(const FieldShape& shape, const FieldRows& rows, const FieldRows& also,
                    int units) {
  SweepTiles tiles;
  tiles.nx = shape.nx;
  tiles.begin[0] = rows.begin;
  tiles.end[0] = rows.end;
  tiles.begin[1] = also.begin;
  tiles.end[1] = also.end;
  set_tile_rows(tiles, tile_rows_for(shape, rows.count() + also.count(), units));
  return tiles;
}

// Plain memory of AMD GPUs is coherent with other devices only between kernels: the kernel before
// the one that reads a row must end behind its arrival.
#ifdef DUET_GPU_HIP
constexpr bool kRowsComeBetweenKernels = true;
#else
constexpr bool kRowsComeBetweenKernels = false;
#endif

Buffer zeroed(Device& device, std::size_t words) {
  const std::vector<std::uint64_t> zeros(words);
  Buffer buffer = device.allocate(sizeof(std::uint64_t) * words);
  device.write(buffer.span(), zeros.data());
  return buffer;
}

// The memory of a kernel's norms, and what of it each call uses.
class NormMemory {
 public:
  // `blocks`: those that sweep.
  NormMemory(Device& device, const ExchangingSweep& sweep, std::int64_t blocks)
      : packets_(zeroed(device, kTurns * words_of_turn(blocks))),
        counters_(zeroed(device, kTurns)),
        there_(device.allocate(sizeof(std::uint64_t*) * sweep.sums.size())) {
    std::vector<std::uint64_t*> there;
    for (const Span& words : sweep.sums) there.push_back(word(words));
    device.write(there_.span(), there.data());
    norm_.group_bits = kGroupBits;
    norm_.partials = blocks;
    norm_.ranks = static_cast<int>(sweep.sums.size());
    norm_.rank = sweep.rank;
    norm_.there = reinterpret_cast<std::uint64_t* const*>(there_.span().data);
  }

  SweepNorm of_call(int parity, const NormOfSweep& wanted) const {
    SweepNorm norm = norm_;
    norm.made = true;
    norm.calls = word(counters_.span()) + parity;
    norm.calls_of_next = word(counters_.span()) + 1 - parity;
    norm.own = sums_of(parity, wanted.total);
    norm.before = sums_of(1 - parity, wanted.total_before);
    return norm;
  }

  // Besides the boundary rows: the last block of their group, and the last of all.
  static constexpr std::int64_t kBlocksThatWait = 2;

 private:
  static constexpr std::size_t kTurns = 2, kWords = ExchangingSweep::kWordsOfSum;
  // So many that few blocks add up, and so few that each of their threads has few packets.
  static constexpr unsigned kGroupBits = 10;

  static std::size_t words_of_turn(std::int64_t blocks) {
    return kWords * static_cast<std::size_t>(blocks + gpu::groups_of(blocks, kGroupBits));
  }

  SumsOfCall sums_of(int turn, const Span& total) const {
    SumsOfCall sums;
    sums.partials =
        word(packets_.span()) + static_cast<std::size_t>(turn) * words_of_turn(norm_.partials);
    sums.groups = sums.partials + kWords * static_cast<std::size_t>(norm_.partials);
    sums.ranks_begin = static_cast<std::int64_t>(kWords) * turn * norm_.ranks;
    sums.total = doubles(total);
    return sums;
  }

  Buffer packets_, counters_, there_;
  SweepNorm norm_;
};

class GpuSweepKernel : public SweepKernel {
 public:
  GpuSweepKernel(Device& device, const ExchangingSweep& sweep, int units)
      : device_(device),
        sweep_(sweep),
        tiles_(tiles_of(sweep.shape, interior_of(sweep.shape), {}, units)),
        counters_(zeroed(device, kCounterWords)),
        norms_(device, sweep,
               boundary_blocks(sweep.shape.rows, sweep.shape.nx) + tile_count(tiles_)) {
    exchange_.rows = sweep.shape.rows;
    exchange_.calls = word(counters_.span());
    exchange_.finished = reinterpret_cast<unsigned*>(exchange_.calls + 1);
  }

  std::int64_t blocks_that_wait() const override {
    return boundary_blocks(sweep_.shape.rows, sweep_.shape.nx) + NormMemory::kBlocksThatWait;
  }

  void enqueue(Stream& stream, int parity, const NormOfSweep& norm,
               const CallOfSample& call) override {
    SweepTiles tiles = tiles_;
    SweepExchange exchange = exchange_;
    const int written = 1 - parity;
    tiles.from = floats(sweep_.field[parity]);
    tiles.to = floats(sweep_.field[written]);
    exchange.halo_above = floats(sweep_.above[written]);
    exchange.halo_below = floats(sweep_.below[written]);
    exchange.from_above = word(sweep_.from_above[parity]);
    exchange.from_below = word(sweep_.from_below[parity]);
    exchange.to_above = word(sweep_.to_above[written]);
    exchange.to_below = word(sweep_.to_below[written]);
    exchange.opens = call.opens;
    exchange.closes = call.closes || kRowsComeBetweenKernels;
    device_.make_current();
    launch_exchange(tiles, exchange, norm.made ? norms_.of_call(parity, norm) : SweepNorm{},
                    stream);
  }

 private:
  static constexpr std::size_t kCounterWords = 4;

  Device& device_;
  ExchangingSweep sweep_;
  SweepTiles tiles_;
  SweepExchange exchange_;
  Buffer counters_;
  NormMemory norms_;
};

class GpuSweeper : public Sweeper {
 public:
  GpuSweeper(Device& device, int units) : device_(device), units_(units) {}

  std::int64_t partials(const FieldShape& shape, const FieldRows& rows,
                        const FieldRows& also) const override {
    return tile_count(tiles_of(shape, rows, also, units_));
  }

  void sweep(Stream& stream, const Sweep& sweep) override {
    if (sweep.rows.count() + sweep.also.count() == 0) return;
    SweepTiles tiles = tiles_of(sweep.shape, sweep.rows, sweep.also, units_);
    tiles.from = floats(sweep.from);
    tiles.to = floats(sweep.to);
    tiles.partials = doubles(sweep.partials);
    device_.make_current();
    launch_sweep(tiles, stream);
  }

  void sum(Stream& stream, const Span& values, const Span& total) override {
    device_.make_current();
    launch_sum(doubles(values), static_cast<std::int64_t>(values.bytes / sizeof(double)),
               doubles(total), stream);
  }

  std::unique_ptr<SweepKernel> exchanging(const ExchangingSweep& sweep) override {
    return std::make_unique<GpuSweepKernel>(device_, sweep, units_);
  }

 private:
  Device& device_;
  int units_;
};

}  // namespace

std::unique_ptr<Sweeper> make_gpu_sweeper(Device& device, int units) {
  return std::make_unique<GpuSweeper>(device, units);
}

}  // namespace duet::DUET_GPU
