#include "training/cudnn/graph.h"

#include <array>

namespace duet::cudnn {
namespace {

constexpr std::int64_t kAlignment = 16;  // bytes

}  // namespace

Dims packed(const Dims& dims) {
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

GraphTensor transposed(GraphTensor tensor) {
  std::swap(tensor.dims[2], tensor.dims[3]);
  std::swap(tensor.strides[2], tensor.strides[3]);
  return tensor;
}

GraphTensor OperationGraph::in_memory(const GraphTensor& tensor) {
  return describe(tensor, false, false);
}

GraphTensor OperationGraph::number(std::int64_t id) {
  const Dims one{1, 1, 1, 1};
  return describe({id, one, one, CUDNN_DATA_FLOAT}, false, true);
}

GraphTensor OperationGraph::between(const Dims& dims, cudnnDataType_t type) {
  return describe({next_id_++, dims, packed(dims), type}, true, false);
}

GraphTensor OperationGraph::describe(const GraphTensor& tensor, bool is_virtual, bool by_value) {
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, tensor.id);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, tensor.type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.dims);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, tensor.strides);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, by_value);
  made.finalize("describing a tensor");
  tensors_.emplace(tensor.id, std::move(made));
  return tensor;
}

const Descriptor& OperationGraph::keep(Descriptor kind) {
  kind.finalize("describing a kind of operation");
  kinds_.push_back(std::move(kind));
  return kinds_.back();
}

GraphTensor OperationGraph::add(Descriptor operation, const Operands& operands) {
  for (const auto& [name, tensor] : operands) operation.set(name, tensors_.at(tensor.id));
  operation.finalize("describing an operation");
  operations_.push_back(std::move(operation));
  return operands.back().second;
}

GraphTensor OperationGraph::pointwise(cudnnPointwiseMode_t mode,
                                      const std::vector<GraphTensor>& inputs,
                                      const GraphTensor& output) {
  constexpr std::array<cudnnBackendAttributeName_t, 3> kNames{CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                              CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                              CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  const bool logical = output.type == CUDNN_DATA_BOOLEAN;
  Descriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, logical ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT);
  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(std::move(kind)));
  Operands operands;
  for (const GraphTensor& input : inputs) operands.emplace_back(kNames.at(operands.size()), input);
  operands.emplace_back(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, output);
  return add(std::move(operation), operands);
}

GraphTensor OperationGraph::index(std::int64_t axis, const GraphTensor& x) {
  Descriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_GEN_INDEX);
  kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_INT32);
  kind.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(std::move(kind)));
  return add(std::move(operation),
             {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x},
              {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, between(x.dims, CUDNN_DATA_INT32)}});
}

GraphTensor OperationGraph::reduce(cudnnReduceTensorOp_t op, const GraphTensor& x,
                                   const GraphTensor& output) {
  Descriptor kind(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  kind.set(CUDNN_ATTR_REDUCTION_OPERATOR, op);
  kind.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  Descriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, keep(std::move(kind)));
  return add(std::move(operation), {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x},
                                    {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, output}});
}

GraphTensor OperationGraph::reduce_last(cudnnReduceTensorOp_t op, const GraphTensor& x) {
  Dims dims = x.dims;
  dims.back() = 1;
  return reduce(op, x, between(dims));
}

GraphTensor OperationGraph::multiply(const GraphTensor& a, const GraphTensor& b,
                                     const GraphTensor& output) {
  Descriptor kind(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  Descriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, keep(std::move(kind)));
  return add(std::move(operation), {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, a},
                                    {CUDNN_ATTR_OPERATION_MATMUL_BDESC, b},
                                    {CUDNN_ATTR_OPERATION_MATMUL_CDESC, output}});
}

GraphTensor OperationGraph::transpose(const GraphTensor& x, cudnnDataType_t type) {
  GraphTensor y = transposed(x);
  y.id = next_id_++;
  y.type = type;
  return add(Descriptor(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR),
             {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x},
              {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, describe(y, true, false)}});
}

Descriptor OperationGraph::finalize(cudnnHandle_t handle) const {
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
  graph.finalize("finalising a graph of operations");
  return graph;
}

}  // namespace duet::cudnn
