// A graph of operations on 4-dimensional tensors, as cuDNN's backend takes it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "training/cudnn/descriptor.h"

namespace duet::cudnn {

using Dims = std::vector<std::int64_t>;

// Strides of a tensor without gaps, whose last dimension is contiguous.
Dims packed(const Dims& dims);

struct GraphTensor {
  std::int64_t id = 0;  // unique in its graph
  Dims dims, strides;   // in elements
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
};

// The same tensor with its last two dimensions exchanged.
GraphTensor transposed(GraphTensor tensor);

// Operations are added in the order in which they depend on each other. Tensors between operations
// have no memory, no gaps, and the type fp32 unless said otherwise. Sums are fp32.
// All throw as throw_error() does.
class OperationGraph {
 public:
  // A tensor in memory, aligned to 16 bytes, at an address that each call of a plan gives by the
  // tensor's id, which is below 1000.
  GraphTensor in_memory(const GraphTensor& tensor);
  // An fp32 number that each call reads at a host address.
  GraphTensor number(std::int64_t id);
  GraphTensor between(const Dims& dims, cudnnDataType_t type = CUDNN_DATA_FLOAT);

  // All return their output. `inputs`: X, B and T in cuDNN's description of the mode.
  GraphTensor pointwise(cudnnPointwiseMode_t mode, const std::vector<GraphTensor>& inputs,
                        const GraphTensor& output);
  GraphTensor pointwise(cudnnPointwiseMode_t mode, const std::vector<GraphTensor>& inputs) {
    return pointwise(mode, inputs, between(inputs.front().dims));
  }
  // int32: each element's index along `axis`.
  GraphTensor index(std::int64_t axis, const GraphTensor& x);
  // Over the dimensions by which `output` is smaller; each a divisor of x's.
  GraphTensor reduce(cudnnReduceTensorOp_t op, const GraphTensor& x, const GraphTensor& output);
  GraphTensor reduce_last(cudnnReduceTensorOp_t op, const GraphTensor& x);
  GraphTensor multiply(const GraphTensor& a, const GraphTensor& b, const GraphTensor& output);
  // transposed(x) as an operation, which keeps x's order in memory.
  GraphTensor transpose(const GraphTensor& x, cudnnDataType_t type);

  // The descriptor refers to this object. `handle` may be null on a machine without a GPU.
  Descriptor finalize(cudnnHandle_t handle) const;

 private:
  using Operands = std::vector<std::pair<cudnnBackendAttributeName_t, GraphTensor>>;

  GraphTensor describe(const GraphTensor& tensor, bool is_virtual, bool by_value);
  const Descriptor& keep(Descriptor kind);
  // Returns the last operand.
  GraphTensor add(Descriptor operation, const Operands& operands);

  std::int64_t next_id_ = 1000;                 // of tensors between operations
  std::map<std::int64_t, Descriptor> tensors_;  // by id
  std::vector<Descriptor> kinds_;               // that operations refer to
  std::vector<Descriptor> operations_;
};

}  // namespace duet::cudnn
