#include "gemm/gpu/reference.h"

#include <algorithm>

#include "device/gpu/device.h"

namespace duet::DUET_GPU {
namespace {

constexpr double kDeadlineSeconds = 120;

}  // namespace

std::vector<double> reference_by_gpu(Device& device, const GemmProblem& problem,
                                     const GemmBuffers& buffers,
                                     const std::vector<std::int64_t>& rows) {
  const auto n = static_cast<std::size_t>(problem.n);
  std::vector<double> c(rows.size() * n);
  const Buffer out = device.allocate(ReferenceRows::most * n * sizeof(double));
  const auto stream = device.make_stream({});
  dynamic_cast<GpuDevice&>(device).use();
  for (std::size_t first = 0; first < rows.size(); first += ReferenceRows::most) {
    ReferenceRows part;
    part.count = static_cast<int>(std::min<std::size_t>(ReferenceRows::most, rows.size() - first));
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(first), part.count, part.row);
    launch_reference(problem, buffers, part, reinterpret_cast<double*>(out.span().data),
                     static_cast<gpuStream_t>(stream->native()));
    stream->synchronize(kDeadlineSeconds);
    const std::size_t bytes = static_cast<std::size_t>(part.count) * n * sizeof(double);
    device.read(out.slice(0, bytes), c.data() + first * n);
  }
  return c;
}

}  // namespace duet::DUET_GPU
