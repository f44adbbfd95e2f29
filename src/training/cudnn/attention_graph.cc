// The operations, their order and their types are those by which cuDNN knows attention: another
// correct graph may run slower, or not at all.
#include "training/cudnn/attention_graph.h"

namespace duet::cudnn {
namespace {

// A graph of attention while it is made.
struct Attention {
  AttentionShape shape;
  cudnnDataType_t type;
  OperationGraph graph;

  Dims heads() const { return {shape.batch, shape.heads, shape.tokens, shape.head_dim}; }
  Dims key_heads() const { return {shape.batch, shape.key_heads(), shape.tokens, shape.head_dim}; }
  Dims pairs() const { return {shape.batch, shape.heads, shape.tokens, shape.tokens}; }
  Dims rows() const { return {shape.batch, shape.heads, shape.tokens, 1}; }

  // By heads; `width`: elements from one token to the next.
  GraphTensor part(std::int64_t id, const Dims& dims, std::int64_t width) const {
    return {id, dims, {shape.tokens * width, shape.head_dim, width, 1}, type};
  }
  GraphTensor of_q(std::int64_t id) {
    return graph.in_memory(part(id, heads(), shape.qkv_width()));
  }
  GraphTensor of_kv(std::int64_t id) {
    return graph.in_memory(part(id, key_heads(), shape.qkv_width()));
  }
  GraphTensor of_kv_transposed(std::int64_t id) {
    return graph.in_memory(transposed(part(id, key_heads(), shape.qkv_width())));
  }
  GraphTensor output(std::int64_t id) { return graph.in_memory(part(id, heads(), shape.width())); }
  GraphTensor fp32(std::int64_t id, const Dims& dims) {
    return graph.in_memory({id, dims, packed(dims), CUDNN_DATA_FLOAT});
  }

  GraphTensor product(const GraphTensor& a, const GraphTensor& b) {
    return graph.multiply(a, b, graph.between(pairs()));
  }
};

// Scores where the query may see the key, -infinity elsewhere.
GraphTensor causal(OperationGraph& graph, const GraphTensor& scores) {
  const GraphTensor query = graph.index(2, scores), key = graph.index(3, scores);
  const GraphTensor seen = graph.pointwise(CUDNN_POINTWISE_CMP_GE, {query, key},
                                           graph.between(scores.dims, CUDNN_DATA_BOOLEAN));
  return graph.pointwise(CUDNN_POINTWISE_BINARY_SELECT,
                         {scores, graph.number(kMinusInfinity), seen});
}

// The sums of dout * out over head_dim.
GraphTensor softmax_sum(Attention& attention, const GraphTensor& dout) {
  OperationGraph& graph = attention.graph;
  const GraphTensor product = graph.pointwise(CUDNN_POINTWISE_MUL, {dout, attention.output(kOut)});
  const GraphTensor sum = graph.reduce_last(CUDNN_REDUCE_TENSOR_ADD, product);
  return graph.pointwise(CUDNN_POINTWISE_MUL, {sum, graph.number(kOne)},
                         attention.fp32(kSoftmaxSum, attention.rows()));
}

// dk or dv: the product for each head of q, whose sum over a group is the gradient.
void key_gradient(Attention& attention, const GraphTensor& left, const GraphTensor& right,
                  std::int64_t id) {
  OperationGraph& graph = attention.graph;
  const GraphTensor gradient = attention.of_kv(id);
  if (attention.shape.group() == 1) {
    graph.multiply(left, right, gradient);
    return;
  }
  const GraphTensor by_heads =
      graph.multiply(left, right, graph.between(attention.heads(), attention.type));
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, by_heads, gradient);
}

// dq from the gradients of the scores.
void query_gradient(Attention& attention, const GraphTensor& dscores, const GraphTensor& k,
                    bool deterministic) {
  OperationGraph& graph = attention.graph;
  const GraphTensor keys = graph.transpose(k, CUDNN_DATA_FLOAT);
  const GraphTensor dq = attention.of_q(kDq);
  if (deterministic) {
    graph.multiply(dscores, keys, dq);
    return;
  }
  const GraphTensor sum = graph.multiply(dscores, keys, attention.fp32(kDqSum, attention.heads()));
  graph.pointwise(CUDNN_POINTWISE_IDENTITY, {sum}, dq);
}

}  // namespace

OperationGraph forward_graph(const AttentionShape& shape, cudnnDataType_t type) {
  Attention attention{shape, type, {}};
  OperationGraph& graph = attention.graph;
  const GraphTensor q = attention.of_q(kQ), k = attention.of_kv_transposed(kK),
                    v = attention.of_kv(kV);

  GraphTensor scores = attention.product(q, k);
  scores = graph.pointwise(CUDNN_POINTWISE_MUL, {scores, graph.number(kScale)});
  scores = causal(graph, scores);
  const GraphTensor most = graph.reduce_last(CUDNN_REDUCE_TENSOR_MAX, scores);
  scores = graph.pointwise(CUDNN_POINTWISE_SUB, {scores, most});
  const GraphTensor powers = graph.pointwise(CUDNN_POINTWISE_EXP, {scores});
  const GraphTensor sum = graph.reduce_last(CUDNN_REDUCE_TENSOR_ADD, powers);
  const GraphTensor logarithm = graph.pointwise(CUDNN_POINTWISE_LOG, {sum});
  graph.pointwise(CUDNN_POINTWISE_ADD, {most, logarithm}, attention.fp32(kStats, attention.rows()));
  const GraphTensor shares =
      graph.pointwise(CUDNN_POINTWISE_DIV, {powers, sum}, graph.between(attention.pairs(), type));
  graph.multiply(shares, v, attention.output(kOut));
  return std::move(graph);
}

OperationGraph backward_graph(const AttentionShape& shape, cudnnDataType_t type,
                              bool deterministic) {
  Attention attention{shape, type, {}};
  OperationGraph& graph = attention.graph;
  const GraphTensor q = attention.of_q(kQ), k = attention.of_kv_transposed(kK),
                    v = attention.of_kv_transposed(kV), dout = attention.output(kDout),
                    stats = attention.fp32(kStats, attention.rows()), scale = graph.number(kScale);
  const GraphTensor row_sum = softmax_sum(attention, dout);

  GraphTensor scores = attention.product(q, k);
  scores = graph.pointwise(CUDNN_POINTWISE_MUL, {scores, scale});
  scores = graph.pointwise(CUDNN_POINTWISE_SUB, {scores, stats});
  const GraphTensor shares = graph.pointwise(CUDNN_POINTWISE_EXP, {causal(graph, scores)});
  key_gradient(attention, graph.transpose(shares, type), dout, kDv);

  GraphTensor dscores = attention.product(dout, v);
  dscores = graph.pointwise(CUDNN_POINTWISE_SUB, {dscores, row_sum});
  dscores = graph.pointwise(CUDNN_POINTWISE_MUL, {dscores, shares});
  dscores = graph.pointwise(CUDNN_POINTWISE_MUL, {dscores, scale});
  key_gradient(attention, graph.transpose(dscores, type), q, kDk);
  query_gradient(attention, dscores, k, deterministic);
  return std::move(graph);
}

}  // namespace duet::cudnn
