// The two linears of a tensor-parallel feed-forward layer by cuBLAS, with rows that are multiplied
// as they come from other GPUs and sent as they are made: tensor_parallel [DEVICES], default cuda.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <duet/communicator/communicator.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

constexpr std::int64_t kTokens = 4096, kWidth = 4096, kInner = 16384;

void require(bool well, const char* what) {
  if (!well) throw std::runtime_error(what);
}

// Rows of Y = X W^T, all of them row-major bf16; `adds`: to what is in Y.
class Linear {
 public:
  Linear(std::int64_t outputs, std::int64_t inputs, float value) : n_(outputs), k_(inputs) {
    require(cublasCreate(&handle_) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
    const std::vector<__nv_bfloat16> all(static_cast<std::size_t>(n_ * k_),
                                         __float2bfloat16(value));
    require(cudaMalloc(&weight_, all.size() * 2) == cudaSuccess, "cudaMalloc");
    require(cudaMemcpy(weight_, all.data(), all.size() * 2, cudaMemcpyHostToDevice) == cudaSuccess,
            "cudaMemcpy");
  }
  ~Linear() {
    cudaFree(weight_);
    cublasDestroy(handle_);
  }
  Linear(const Linear&) = delete;
  Linear& operator=(const Linear&) = delete;

  void multiply(duet::Stream& stream, std::uint64_t rows, const void* x, void* y, bool adds) {
    const float one = 1, beta = adds ? 1 : 0;
    cublasSetStream(handle_, static_cast<cudaStream_t>(stream.native()));
    require(cublasGemmEx(handle_, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(n_),
                         static_cast<int>(rows), static_cast<int>(k_), &one, weight_, CUDA_R_16BF,
                         static_cast<int>(k_), x, CUDA_R_16BF, static_cast<int>(k_), &beta, y,
                         CUDA_R_16BF, static_cast<int>(n_), CUBLAS_COMPUTE_32F,
                         CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS,
            "cublasGemmEx");
  }

 private:
  std::int64_t n_, k_;
  cublasHandle_t handle_ = nullptr;
  void* weight_ = nullptr;
};

duet::Collective rows_of(duet::CollectiveKind kind, int ranks) {
  duet::Collective collective;
  collective.kind = kind;
  collective.dtype = duet::DType::bf16;
  collective.count = static_cast<std::uint64_t>(kTokens / ranks * kWidth);  // of each rank
  collective.rows.columns = kWidth;
  // Of sums the next range is multiplied while one is sent; what is gathered is there in time.
  collective.rows.ranges = kind == duet::CollectiveKind::all_gather ? 1 : 2;
  return collective;
}

void run(duet::LocalRank& rank) {
  require(kTokens % rank.size() == 0 && kInner % rank.size() == 0, "expected 1, 2, 4 or 8 GPUs");
  require(cudaSetDevice(rank.device().info().ordinal) == cudaSuccess, "cudaSetDevice");
  const std::int64_t inner = kInner / rank.size();
  const std::uint64_t row = kWidth * 2, all = kTokens * row,
                      own = all / static_cast<unsigned>(rank.size());
  // Powers of two, so that results are exact.
  Linear up(inner, kWidth, 1.0f / 4096), down(kWidth, inner, 1.0f / 16384);
  const auto gathered = rank.allocate(all), partial = rank.allocate(all),
             result = rank.allocate(own);
  const duet::Buffer hidden =
      rank.device().allocate(static_cast<std::uint64_t>(kTokens * inner * 2));

  // A rank's own tokens stand at their place among all.
  const duet::Span tokens = gathered->span().slice(own * static_cast<unsigned>(rank.index()), own);
  const std::vector<__nv_bfloat16> ones(own / 2, __float2bfloat16(1));
  rank.device().write(tokens, ones.data());
  auto gather =
      rank.plan(rows_of(duet::CollectiveKind::all_gather, rank.size()), tokens, gathered->span());
  auto scatter = rank.plan(rows_of(duet::CollectiveKind::reduce_scatter, rank.size()),
                           partial->span(), result->span());

  const auto stream = rank.device().make_stream();
  const auto hidden_rows = [&](const duet::RowBlock& rows) {
    return hidden.span().data + rows.first * static_cast<std::uint64_t>(inner) * 2;
  };
  for (int step = 0; step < 3; ++step) {
    gather.enqueue_rows(*stream, [&](duet::Stream& on, const duet::CallRows& rows) {
      up.multiply(on, rows.rows.count, rows.place.data, hidden_rows(rows.rows), false);
    });
    scatter.enqueue_rows(*stream, [&](duet::Stream& on, const duet::CallRows& rows) {
      down.multiply(on, rows.rows.count, hidden_rows(rows.rows), rows.place.data, rows.adds);
    });
  }
  stream->synchronize(60);

  std::vector<__nv_bfloat16> got(own / 2);
  rank.device().read(result->span(), got.data());
  for (const __nv_bfloat16 each : got) require(__bfloat162float(each) == 1, "a wrong result");
  if (rank.index() == 0) {
    std::printf("%d ranks: right; %s; %s\n", rank.size(), gather.algorithm().c_str(),
                scatter.algorithm().c_str());
  }
  rank.retire(std::move(gather));
  rank.retire(std::move(scatter));
}

}  // namespace

int main(int count, char** arguments) try {
  duet::CommunicatorOptions options;
  options.device = count > 1 ? arguments[1] : "cuda";
  options.engine = "dma";
  duet::Communicator(options).each([](duet::LocalRank& rank) { run(rank); });
} catch (const std::exception& error) {
  std::fprintf(stderr, "tensor_parallel: %s\n", error.what());
  return 1;
}
