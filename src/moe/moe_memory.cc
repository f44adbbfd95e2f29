#include "moe/moe_memory.h"

#include <algorithm>

#include "training/operations/operation.h"

namespace duet {
namespace {

constexpr Fill kPoison{FillKind::constant,
                       0xFF};  // NaN in every type of floating point, -1 as int32
constexpr std::uint64_t kWeightSeeds = std::uint64_t{1} << 40;  // behind those of rows
constexpr std::uint64_t kGradientSeeds = std::uint64_t{1} << 39;
constexpr std::uint64_t kMostBatches = 2, kMostRanks = 4096;  // of which rows have seeds

Tensor first_rows(Tensor tensor, std::int64_t rows) {
  return rows_of(tensor, {0, std::min(rows, tensor.rows)});
}
// Of a list in one row.
Tensor first_columns(Tensor list, std::int64_t columns) {
  list.columns = std::min(columns, list.columns);
  list.span = list.span.slice(0, list.bytes());
  return list;
}

// A rank may have no rows, and memory of no bytes is none.
std::uint64_t allocated(const Tensor& tensor) {
  return std::max<std::uint64_t>(tensor.bytes(), 256);
}

}  // namespace

MoeSizes sizes_of(const ExchangedRows& rows, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  return {static_cast<std::int64_t>(rows.sent_by(rank)),
          static_cast<std::int64_t>(rows.arrivals[at].size()),
          static_cast<std::int64_t>(rows.multiplied[at].size())};
}

MoeMemory::MoeMemory(Rank& rank, const MoeShape& shape, ExchangeKind kind,
                     CollectiveSession* session, const MoeSizes& most, std::size_t batch)
    : shape_(shape), kind_(kind), batch_(batch) {
  allocate_experts(rank, most);
  if (session != nullptr) allocate_rows(rank, *session, most);
  if (shape_.shared > 0) allocate_shared(rank);
  if (!shape_.trains) return;
  allocate_expert_gradients(rank, most);
  if (session != nullptr) allocate_row_gradients(rank, *session, most);
  if (shape_.shared > 0) allocate_shared_gradients(rank);
}

MoeWeights::MoeWeights(Rank& rank, const MoeShape& shape, Stream& stream) {
  auto seed = kWeightSeeds + 4 * static_cast<std::uint64_t>(rank.index);
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    Tensor made{{}, rows, columns, shape.dtype};
    if (made.count() == 0) return made;
    memory_.push_back(rank.device.allocate(made.bytes()));
    made.span = memory_.back().span();
    stream.fill(made.span, {FillKind::normal, seed++, 0, shape.dtype});
    return made;
  };
  const std::int64_t experts = shape.experts / rank.size;
  up_ = matrix(experts * 2 * shape.width, shape.hidden);
  down_ = matrix(experts * shape.hidden, shape.width);
  shared_up_ = matrix(2 * shape.shared_width(), shape.hidden);
  shared_down_ = matrix(shape.hidden, shape.shared_width());
}

Tensor MoeMemory::device_memory(Rank& rank, std::int64_t rows, std::int64_t columns, DType dtype) {
  Tensor made{{}, rows, columns, dtype};
  memory_.push_back(std::make_unique<PlainMemory>(rank.device.allocate(allocated(made))));
  made.span = memory_.back()->span().slice(0, made.bytes());
  return made;
}

Tensor MoeMemory::session_memory(Rank& rank, CollectiveSession& session, std::int64_t rows,
                                 std::int64_t columns, DType dtype) {
  Tensor made{{}, rows, columns, dtype};
  memory_.push_back(session.allocate(rank, allocated(made)));
  made.span = memory_.back()->span().slice(0, made.bytes());
  return made;
}

void MoeMemory::allocate_experts(Rank& rank, const MoeSizes& most) {
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return device_memory(rank, rows, columns, shape_.dtype);
  };
  const std::int64_t rows = most.multiplied;
  all_.expanded = matrix(rows, shape_.hidden);
  all_.gate_up = matrix(rows, 2 * shape_.width);
  all_.activated = matrix(rows, shape_.width);
  all_.products = matrix(rows, shape_.hidden);
}

void MoeMemory::allocate_shared(Rank& rank) {
  const auto matrix = [&](std::int64_t columns) {
    return device_memory(rank, shape_.tokens, columns, shape_.dtype);
  };
  if (all_.x.count() == 0) all_.x = matrix(shape_.hidden);  // the experts alone
  all_.shared_gate_up = matrix(2 * shape_.shared_width());
  all_.shared_activated = matrix(shape_.shared_width());
  all_.shared_products = matrix(shape_.hidden);
}

void MoeMemory::allocate_expert_gradients(Rank& rank, const MoeSizes& most) {
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return device_memory(rank, rows, columns, shape_.dtype);
  };
  const std::int64_t rows = most.multiplied, experts = shape_.experts / rank.size;
  all_.dexpanded = matrix(rows, shape_.hidden);
  all_.dproducts = matrix(rows, shape_.hidden);
  all_.dgate_up = matrix(rows, 2 * shape_.width);
  all_.dactivated = matrix(rows, shape_.width);
  all_.dup = matrix(experts * 2 * shape_.width, shape_.hidden);
  all_.ddown = matrix(experts * shape_.hidden, shape_.width);
}

void MoeMemory::allocate_shared_gradients(Rank& rank) {
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return device_memory(rank, rows, columns, shape_.dtype);
  };
  const std::int64_t tokens = shape_.tokens, hidden = shape_.hidden, width = shape_.shared_width();
  if (all_.dout.count() == 0) all_.dout = matrix(tokens, hidden);  // the experts alone
  all_.dshared_gate_up = matrix(tokens, 2 * width);
  all_.dshared_activated = matrix(tokens, width);
  all_.dshared_x = matrix(tokens, hidden);
  all_.dshared_up = matrix(2 * width, hidden);
  all_.dshared_down = matrix(hidden, width);
}

void MoeMemory::allocate_row_gradients(Rank& rank, CollectiveSession& session,
                                       const MoeSizes& most) {
  const auto rows_of_x = [&](std::int64_t rows) {
    return session_memory(rank, session, rows, shape_.hidden, shape_.dtype);
  };
  const auto of_weights = [&](std::int64_t rows) {
    return session_memory(rank, session, rows, columns_of_gradient(shape_.chosen), DType::fp32);
  };
  all_.dreceived = rows_of_x(most.received);
  all_.dpartial = rows_of_x(most.received);
  all_.dx = rows_of_x(shape_.tokens);
  all_.dweights = of_weights(shape_.tokens);
  if (kind_ != ExchangeKind::per_expert) all_.received_dweights = of_weights(most.received);
  if (kind_ == ExchangeKind::all_gather) {
    const RowRange own{rank.index * shape_.tokens, (rank.index + 1) * shape_.tokens};
    all_.dout = duet::rows_of(all_.dreceived, own);
    return;
  }
  all_.dout = device_memory(rank, shape_.tokens, shape_.hidden, shape_.dtype);
  all_.dsent = rows_of_x(most.sent);
  all_.dreturned = rows_of_x(most.sent);
  if (kind_ == ExchangeKind::per_rank) all_.sent_dweights = of_weights(most.sent);
}

void MoeMemory::allocate_rows(Rank& rank, CollectiveSession& session, const MoeSizes& most) {
  const auto rows_of_x = [&](std::int64_t rows) {
    return session_memory(rank, session, rows, shape_.hidden, shape_.dtype);
  };
  const bool fp8 = shape_.fp8_rows;
  const std::int64_t wide = fp8 ? bytes_of_fp8_row(shape_.hidden) : shape_.hidden;
  const DType wide_dtype = fp8 ? DType::int8 : shape_.dtype;
  const auto rows_to_send = [&](std::int64_t rows) {
    return session_memory(rank, session, rows, wide, wide_dtype);
  };
  const auto list = [&](std::int64_t rows, std::int64_t columns) {
    return device_memory(rank, rows, columns, DType::int32);
  };
  const bool per_expert = kind_ == ExchangeKind::per_expert;
  const std::int64_t routed = 2 * shape_.chosen, info = per_expert ? 1 : routed;
  all_.received = rows_to_send(most.received);
  all_.partial = rows_of_x(most.received);
  all_.out = rows_of_x(shape_.tokens);
  all_.received_routing = session_memory(rank, session, most.received, info, DType::int32);
  all_.tokens = list(1, most.multiplied);
  all_.places = list(most.received, per_expert ? 1 : shape_.chosen);
  if (shape_.drops()) {
    all_.choice_tokens = list(1, shape_.tokens * shape_.chosen);
    all_.choice_places = list(shape_.tokens, shape_.chosen);
    all_.choice_offsets = list(1, shape_.experts + 1);
  }
  if (kind_ == ExchangeKind::all_gather) {
    const RowRange own{rank.index * shape_.tokens, (rank.index + 1) * shape_.tokens};
    all_.travelling = duet::rows_of(all_.received, own);
    all_.routing = duet::rows_of(all_.received_routing, own);
    all_.x =
        fp8 ? device_memory(rank, shape_.tokens, shape_.hidden, shape_.dtype) : all_.travelling;
    return;
  }
  all_.x = device_memory(rank, shape_.tokens, shape_.hidden, shape_.dtype);
  all_.travelling = fp8 ? device_memory(rank, shape_.tokens, wide, wide_dtype) : all_.x;
  all_.routing = list(shape_.tokens, routed);
  all_.sent = rows_to_send(most.sent);
  all_.returned = rows_of_x(most.sent);
  all_.sent_routing = session_memory(rank, session, most.sent, info, DType::int32);
  all_.sent_tokens = list(1, most.sent);
  all_.sent_places = list(shape_.tokens, per_expert ? shape_.chosen : rank.size);
}

MoeTensors MoeMemory::tensors(const MoeSizes& sizes) const {
  MoeTensors t = all_;
  for (Tensor* each :
       {&t.sent, &t.returned, &t.sent_routing, &t.dsent, &t.dreturned, &t.sent_dweights})
    *each = first_rows(*each, sizes.sent);
  for (Tensor* each : {&t.received, &t.partial, &t.received_routing, &t.places, &t.dreceived,
                       &t.dpartial, &t.received_dweights})
    *each = first_rows(*each, sizes.received);
  for (Tensor* each : {&t.expanded, &t.gate_up, &t.activated, &t.products, &t.dexpanded,
                       &t.dgate_up, &t.dactivated, &t.dproducts})
    *each = first_rows(*each, sizes.multiplied);
  t.sent_tokens = first_columns(t.sent_tokens, sizes.sent);
  t.tokens = first_columns(t.tokens, sizes.multiplied);
  return t;
}

Fill MoeMemory::input(int rank, std::uint64_t fills) const {
  const std::uint64_t seed =
      (fills * kMostBatches + batch_) * kMostRanks + static_cast<std::uint64_t>(rank);
  return {FillKind::normal, seed, 0, shape_.dtype};
}

Fill MoeMemory::gradient(int rank, std::uint64_t fills) const {
  Fill fill = input(rank, fills);
  fill.seed += kGradientSeeds;
  return fill;
}

void MoeMemory::fill(int rank, std::uint64_t fills, Stream& stream) const {
  for (const auto& each : memory_) stream.fill(each->span(), kPoison);
  const bool exchanges = all_.out.count() > 0;
  const auto write = [&](const Tensor& tensor, const Fill& fill) {
    if (tensor.count() > 0) stream.fill(tensor.span, fill);
  };
  write(all_.x, input(rank, fills));
  write(all_.dout, gradient(rank, fills));
  if (exchanges) return;
  write(all_.expanded, input(rank, fills));
  write(all_.dproducts, gradient(rank, fills));
}

}  // namespace duet
