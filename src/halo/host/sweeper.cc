#include <algorithm>
#include <vector>

#include "halo/host/rows.h"
#include "halo/sweep.h"

namespace duet {
namespace {

const float* values(const Span& span) { return reinterpret_cast<const float*>(span.data); }

class CpuSweeper : public Sweeper {
 public:
  explicit CpuSweeper(Device& device) : device_(device) {}

  std::int64_t partials(const FieldShape&, const FieldRows& rows,
                        const FieldRows& also) const override {
    return rows.count() + also.count();
  }

  void sweep(Stream& stream, const Sweep& sweep) override {
    const auto rows = static_cast<double>(sweep.rows.count() + sweep.also.count());
    if (rows == 0) return;
    const double points = rows * static_cast<double>(sweep.shape.nx);
    const bool norm = sweep.partials.bytes > 0;
    Task task;
    task.name = "sweep";
    task.demand.flop = (norm ? 7 : 4) * points;
    task.demand.memory_bytes = 2 * sizeof(float) * points;
    task.body = [this, sweep] { run(sweep); };
    stream.run(task);
  }

  void sum(Stream& stream, const Span& values, const Span& total) override {
    Task task;
    task.name = "sum of partial sums";
    task.demand.memory_bytes = static_cast<double>(values.bytes);
    task.body = [this, values, total] { add(values, total); };
    stream.run(task);
  }

 private:
  bool has_contents(const Span& span) const {
    return span.bytes == 0 || device_.has_contents(span);
  }

  void run(const Sweep& sweep) const {
    if (!has_contents(sweep.from) || !has_contents(sweep.to)) return;
    const std::int64_t first = sweep.rows.count(), all = first + sweep.also.count();
    const Stores stores =
        sweep.to.bytes > device_.info().cache_bytes ? Stores::past_caches : Stores::cached;
#pragma omp parallel for schedule(dynamic, rows_at_a_time(all)) num_threads(threads())
    for (std::int64_t i = 0; i < all; ++i) {
      const std::int64_t row = i < first ? sweep.rows.begin + i : sweep.also.begin + (i - first);
      sweep_one(sweep, row, i, stores);
    }
  }

  // Past the caches a row with a norm is made in a buffer first, where its changes are read again.
  void sweep_one(const Sweep& sweep, std::int64_t row, std::int64_t partial, Stores stores) const {
    const std::int64_t nx = sweep.shape.nx;
    const float* const own = values(sweep.from) + row * nx;
    float* const to = reinterpret_cast<float*>(sweep.to.data) + row * nx;
    if (sweep.partials.bytes == 0) return sweep_row(own - nx, own, own + nx, to, nx, stores);
    double& sum = reinterpret_cast<double*>(sweep.partials.data)[partial];
    if (stores == Stores::cached) {
      sweep_row(own - nx, own, own + nx, to, nx, stores);
      sum = change_of_row(own, to, nx);
      return;
    }
    thread_local std::vector<float> buffer;
    buffer.resize(static_cast<std::size_t>(nx));
    sweep_row(own - nx, own, own + nx, buffer.data(), nx, Stores::cached);
    sum = change_of_row(own, buffer.data(), nx);
    copy_row_past_caches(buffer.data(), to, nx);
  }

  void add(const Span& values, const Span& total) const {
    if (!has_contents(values) || !has_contents(total)) return;
    const auto* const from = reinterpret_cast<const double*>(values.data);
    double sum = 0;
    for (std::size_t i = 0; i < values.bytes / sizeof(double); ++i) sum += from[i];
    *reinterpret_cast<double*>(total.data) = sum;
  }

  // Threads take rows as they come to them: another program may hold one of them up.
  static std::int64_t rows_at_a_time(std::int64_t rows) {
    return std::max<std::int64_t>(1, rows / 256);
  }

  // A simulated device's tasks run one at a time.
  int threads() const {
    return device_.info().cpu_addressable ? std::max(1, device_.info().compute_units) : 1;
  }

  Device& device_;
};

}  // namespace

std::unique_ptr<Sweeper> make_cpu_sweeper(Device& device) {
  return std::make_unique<CpuSweeper>(device);
}

}  // namespace duet
