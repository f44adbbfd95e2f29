// Linears without biases, ReLU between them, and one step of its training by the mean squared
// error.
#pragma once

#include <vector>

#include "training/models/model.h"

namespace duet {

struct MlpConfig {
  std::vector<std::int64_t> widths;  // of the input, after each linear; at least two
  std::int64_t batch = 0;            // samples per step

  std::int64_t layers() const { return static_cast<std::int64_t>(widths.size()) - 1; }
};

// The MI350X training study's, "Benchmark 2: Simple Training Loop": 134 million parameters.
MlpConfig study_mlp();

class Mlp : public Model {
 public:
  // Plans its memory. The device and the operations must outlive it.
  Mlp(const MlpConfig& config, const Recipe& recipe, const Optimizer& optimizer, Device& device,
      Operations& operations, const ModelShard& shard = {});

  void make_random_input(Stream& stream, std::uint64_t batch) override;
  void evaluate(Stream& stream) override;

  // (batch, first width) and (batch, last width).
  const Tensor& input() const { return layers_.front().x; }
  const Tensor& targets() const { return targets_; }
  const Tensor& output() const override { return layers_.back().y; }

 private:
  // y = relu(x w^T); of the last layer without ReLU.
  struct Layer {
    std::size_t weight;  // index into parameters_
    Tensor x, y, dy;
  };

  void lay_out() override;
  void enqueue_forward(Stream& stream, const BlockBegins& begins) override;
  void enqueue_backward(Stream& stream, Accumulate gradients, const GradientsComplete& complete,
                        const BlockBegins& begins) override;

  MlpConfig config_;
  std::vector<Layer> layers_;
  Tensor targets_, row_losses_;
};

ModelDescription describe(const MlpConfig& config);

}  // namespace duet
