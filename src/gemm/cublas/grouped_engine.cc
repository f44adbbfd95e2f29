// cublasGemmGroupedBatchedEx as an engine: all groups by one call. Sizes are arrays of the host,
// and the addresses of the matrices arrays of the device.
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <thread>

#include "core/thread.h"
#include "gemm/cublas/engines.h"
#include "gemm/cublas/handle.h"
#include "gemm/cublas/types.h"
#include "gemm/grouped.h"

namespace duet::cuda {

#if CUBLAS_VERSION >= 120500  // the first that has the call

namespace {

constexpr double kGroupedDeadlineSeconds = 120;
constexpr std::uint64_t kAlignedRow = 16;  // bytes; cuBLAS's kernels load so much at once

// Whether a call returns only when earlier work of the stream is done, as copies of pageable memory
// may: behind a wait that ends when the call has returned, or else after kPatience.
bool blocks_behind_a_wait(Device& device, Stream& stream, const std::function<void()>& call) {
  constexpr std::chrono::milliseconds kPatience{300};
  const Buffer word = device.allocate(sizeof(std::uint64_t), MemoryKind::pinned);
  const std::uint64_t closed = 0;
  device.write(word.span(), &closed);
  const Semaphore gate = semaphore_at(word, 0);
  std::promise<void> returned;
  bool blocked = false;
  std::thread opener =
      start_thread("the probe of cuBLAS", [&, has_returned = returned.get_future()] {
        blocked = has_returned.wait_for(kPatience) == std::future_status::timeout;
        device.signal(gate, 1);
      });
  std::exception_ptr error;
  try {
    stream.wait(gate, 1);
    call();
  } catch (...) {
    error = std::current_exception();
  }
  returned.set_value();
  opener.join();
  stream.synchronize(kGroupedDeadlineSeconds);
  if (error) std::rethrow_exception(error);
  return blocked;
}

// The arguments of the call. A "group" of cuBLAS is all products of one size; those without rows
// are left out.
class GroupedArguments {
 public:
  GroupedArguments(Device& device, const GroupedGemmProblem& problem, const GemmBuffers& buffers) {
    std::map<std::int64_t, std::vector<std::size_t>> by_rows;
    for (const std::size_t group : filled_groups(problem)) {
      by_rows[problem.rows[group]].push_back(group);
    }
    std::vector<const void*> a, b, c;
    for (const auto& [rows, groups] : by_rows) {
      add_size(problem, rows, static_cast<std::int64_t>(groups.size()));
      for (const std::size_t group : groups) {
        const GemmBuffers part = part_of(problem, buffers, group);
        a.push_back(part.a.data);
        b.push_back(part.b.data);
        c.push_back(part.c.data);
      }
    }
    a_ = on_device(device, a);
    b_ = on_device(device, b);
    c_ = on_device(device, c);
  }

  bool empty() const { return counts_.empty(); }
  std::size_t sizes() const { return counts_.size(); }

  // cuBLAS's first operand is Duet's B (types.h).
  cublasStatus_t call(cublasHandle_t handle, const GroupedGemmProblem& problem) const {
    const cudaDataType_t in = *data_type(problem.dtype), out = *data_type(problem.output);
    return cublasGemmGroupedBatchedEx_64(
        handle, operations_b_.data(), operations_a_.data(), n_.data(), rows_.data(), k_.data(),
        alpha_.data(), pointers(b_), in, leading_b_.data(), pointers(a_), in, k_.data(),
        beta_.data(), const_cast<void* const*>(pointers(c_)), out, n_.data(),
        static_cast<std::int64_t>(counts_.size()), counts_.data(),
        compute_types(problem.dtype).compute);
  }

 private:
  void add_size(const GroupedGemmProblem& problem, std::int64_t rows, std::int64_t count) {
    const GemmProblem product{rows,          problem.n,      problem.k,
                              problem.dtype, problem.output, problem.layout};
    operations_a_.push_back(operation_a(product));
    operations_b_.push_back(operation_b(product));
    leading_b_.push_back(leading_b(product));
    rows_.push_back(rows);
    n_.push_back(problem.n);
    k_.push_back(problem.k);
    alpha_.push_back(1);
    beta_.push_back(0);
    counts_.push_back(count);
  }

  static Buffer on_device(Device& device, const std::vector<const void*>& addresses) {
    Buffer array = device.allocate(addresses.size() * sizeof(void*));
    if (!addresses.empty()) device.write(array.span(), addresses.data());
    return array;
  }

  static const void* const* pointers(const Buffer& array) {
    return reinterpret_cast<const void* const*>(array.span().data);
  }

  // One entry for each size. The leading dimension of A is K, that of C is N.
  std::vector<cublasOperation_t> operations_a_, operations_b_;
  std::vector<std::int64_t> rows_, n_, k_, leading_b_, counts_;
  std::vector<float> alpha_, beta_;
  Buffer a_, b_, c_;  // one address for each product, ordered by size
};

class GroupedPlan : public GroupedGemmPlan {
 public:
  GroupedPlan(GpuDevice& device, const GroupedGemmProblem& problem, const GemmBuffers& buffers,
              const std::optional<Span>& workspace)
      : problem_(problem), arguments_(device, problem, buffers), handle_(device, workspace) {}

  void enqueue(Stream& stream) override {
    if (arguments_.empty()) return;
    stream.device().make_current();
    DUET_CUBLAS_CHECK(arguments_.call(handle_.on(stream), problem_));
  }

  bool blocks() const override { return blocks_; }
  void set_blocks(bool blocks) { blocks_ = blocks; }

  // The library's kernel, and a few that prepare its arguments.
  std::size_t operations() const override { return 4; }

  std::uint64_t workspace_bytes() const override { return handle_.own_bytes(); }

  std::string algorithm() const override {
    return fmt::format("cublasGemmGroupedBatchedEx, {} sizes{}", arguments_.sizes(),
                       blocks_ ? ", a call waits for earlier work" : "");
  }

 private:
  GroupedGemmProblem problem_;
  GroupedArguments arguments_;
  PlanHandle handle_;
  bool blocks_ = false;
};

class GroupedEngine : public GroupedGemmEngine {
 public:
  std::string name() const override { return "cublas-grouped"; }
  std::string device_kind() const override { return "cuda"; }

  std::optional<Skipped> unsupported(Device&, const GroupedGemmProblem& p) const override {
    const bool has_type = p.dtype == DType::fp32 || p.dtype == DType::tf32 ||
                          p.dtype == DType::fp16 || p.dtype == DType::bf16;
    if (!has_type || p.output != default_output(p.dtype)) {
      return Skipped{fmt::format("cublasGemmGroupedBatchedEx does not multiply {} to {}",
                                 duet::name(p.dtype), duet::name(p.output))};
    }
    const std::uint64_t size = size_of(p.dtype);
    const auto n = static_cast<std::uint64_t>(p.n), k = static_cast<std::uint64_t>(p.k);
    if (n * size % kAlignedRow != 0 || k * size % kAlignedRow != 0) {
      return Skipped{fmt::format("cublasGemmGroupedBatchedEx wants N and K in multiples of {}",
                                 kAlignedRow / size)};
    }
    return std::nullopt;
  }

  // Makes two calls: in the first the library loads its kernel, the second tells whether calls
  // block.
  std::unique_ptr<GroupedGemmPlan> plan(Device& device, const GroupedGemmProblem& problem,
                                        const GemmBuffers& buffers, const Tuning& tuning) override {
    check(problem, buffers);
    auto plan = std::make_unique<GroupedPlan>(dynamic_cast<GpuDevice&>(device), problem, buffers,
                                              tuning.workspace);
    const auto stream = device.make_stream({0, tuning.units});
    plan->enqueue(*stream);
    stream->synchronize(kGroupedDeadlineSeconds);
    plan->set_blocks(blocks_behind_a_wait(device, *stream, [&] { plan->enqueue(*stream); }));
    return plan;
  }
};

}  // namespace

void register_cublas_grouped_engine() {
  register_grouped_gemm_engine(std::make_unique<GroupedEngine>());
}

#else

void register_cublas_grouped_engine() {}

#endif

}  // namespace duet::cuda
