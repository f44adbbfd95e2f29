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
  MoeSizes sizes;
  for (const RowHop& hop : rows.hops) {
    sizes.hops.push_back({static_cast<std::int64_t>(hop.sent_by(rank)),
                          static_cast<std::int64_t>(hop.arrivals_of(rank).size()), hop.groups});
  }
  sizes.multiplied =
      static_cast<std::int64_t>(rows.multiplied[static_cast<std::size_t>(rank)].size());
  return sizes;
}

MoeSizes most_of(const std::vector<MoeCall>& calls, int rank) {
  MoeSizes most = sizes_of(*calls.front().rows, rank);
  for (const MoeCall& each : calls) {
    const MoeSizes sizes = sizes_of(*each.rows, rank);
    most.multiplied = std::max(most.multiplied, sizes.multiplied);
    for (std::size_t hop = 0; hop < sizes.hops.size(); ++hop) {
      most.hops[hop].sent = std::max(most.hops[hop].sent, sizes.hops[hop].sent);
      most.hops[hop].received = std::max(most.hops[hop].received, sizes.hops[hop].received);
    }
  }
  return most;
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
  all_.dx = rows_of_x(shape_.tokens);
  all_.dweights = of_weights(shape_.tokens);
  for (std::size_t i = 0; i < all_.hops.size(); ++i) {
    MoeHop& hop = all_.hops[i];
    const MoeSizes::OfHop& rows = most.hops[i];
    hop.dreceived = rows_of_x(rows.received);
    hop.dpartial = rows_of_x(rows.received);
    if (kind_ != ExchangeKind::per_expert) hop.received_dweights = of_weights(rows.received);
    if (kind_ == ExchangeKind::all_gather) continue;
    hop.dsent = rows_of_x(rows.sent);
    hop.dreturned = rows_of_x(rows.sent);
    if (kind_ != ExchangeKind::per_expert) hop.sent_dweights = of_weights(rows.sent);
  }
  const RowRange own{rank.index * shape_.tokens, (rank.index + 1) * shape_.tokens};
  all_.dout = kind_ == ExchangeKind::all_gather
                  ? duet::rows_of(all_.hops.front().dreceived, own)
                  : device_memory(rank, shape_.tokens, shape_.hidden, shape_.dtype);
}

Tensor MoeMemory::rows_to_send(Rank& rank, CollectiveSession& session, std::int64_t rows) {
  if (!shape_.fp8_rows) return session_memory(rank, session, rows, shape_.hidden, shape_.dtype);
  return session_memory(rank, session, rows, bytes_of_fp8_row(shape_.hidden), DType::int8);
}

void MoeMemory::allocate_rows(Rank& rank, CollectiveSession& session, const MoeSizes& most) {
  const auto list = [&](std::int64_t rows, std::int64_t columns) {
    return device_memory(rank, rows, columns, DType::int32);
  };
  const bool fp8 = shape_.fp8_rows, per_expert = kind_ == ExchangeKind::per_expert;
  all_.out = session_memory(rank, session, shape_.tokens, shape_.hidden, shape_.dtype);
  for (const MoeSizes::OfHop& rows : most.hops) {
    MoeHop& hop = all_.hops.emplace_back();
    hop.received = rows_to_send(rank, session, rows.received);
    hop.partial = session_memory(rank, session, rows.received, shape_.hidden, shape_.dtype);
    hop.received_routing =
        session_memory(rank, session, rows.received, columns_of_routing(), DType::int32);
    if (kind_ != ExchangeKind::all_gather) allocate_sent(rank, session, rows, hop);
  }
  all_.tokens = list(1, most.multiplied);
  all_.places = list(most.hops.back().received, per_expert ? 1 : shape_.chosen);
  if (shape_.drops()) {
    all_.choice_tokens = list(1, shape_.tokens * shape_.chosen);
    all_.choice_places = list(shape_.tokens, shape_.chosen);
    all_.choice_offsets = list(1, shape_.experts + 1);
  }
  if (kind_ == ExchangeKind::all_gather) {
    const RowRange own{rank.index * shape_.tokens, (rank.index + 1) * shape_.tokens};
    all_.travelling = duet::rows_of(all_.hops.front().received, own);
    all_.routing = duet::rows_of(all_.hops.front().received_routing, own);
    all_.x =
        fp8 ? device_memory(rank, shape_.tokens, shape_.hidden, shape_.dtype) : all_.travelling;
    return;
  }
  all_.x = device_memory(rank, shape_.tokens, shape_.hidden, shape_.dtype);
  const Tensor& wide = all_.hops.front().received;
  all_.travelling = fp8 ? device_memory(rank, shape_.tokens, wide.columns, wide.dtype) : all_.x;
  all_.routing = list(shape_.tokens, 2 * shape_.chosen);
}

// Rows that a hop sends are a token's, or those that the hop before has brought.
void MoeMemory::allocate_sent(Rank& rank, CollectiveSession& session, const MoeSizes::OfHop& most,
                              MoeHop& hop) {
  const std::size_t hops = all_.hops.size();
  const std::int64_t rows = hops == 1 ? shape_.tokens : all_.hops[hops - 2].received.rows;
  hop.sent = rows_to_send(rank, session, most.sent);
  hop.returned = session_memory(rank, session, most.sent, shape_.hidden, shape_.dtype);
  hop.sent_routing = session_memory(rank, session, most.sent, columns_of_routing(), DType::int32);
  hop.sent_tokens = device_memory(rank, 1, most.sent, DType::int32);
  hop.sent_places = device_memory(
      rank, rows, kind_ == ExchangeKind::per_expert ? shape_.chosen : most.groups, DType::int32);
}

MoeTensors MoeMemory::tensors(const MoeSizes& sizes) const {
  MoeTensors t = all_;
  for (std::size_t i = 0; i < t.hops.size(); ++i) {
    MoeHop& hop = t.hops[i];
    for (Tensor* each : {&hop.sent, &hop.returned, &hop.sent_routing, &hop.dsent, &hop.dreturned,
                         &hop.sent_dweights})
      *each = first_rows(*each, sizes.hops[i].sent);
    for (Tensor* each : {&hop.received, &hop.partial, &hop.received_routing, &hop.dreceived,
                         &hop.dpartial, &hop.received_dweights})
      *each = first_rows(*each, sizes.hops[i].received);
    hop.sent_tokens = first_columns(hop.sent_tokens, sizes.hops[i].sent);
    if (i > 0) hop.sent_places = first_rows(hop.sent_places, sizes.hops[i - 1].received);
  }
  if (!t.hops.empty()) t.places = first_rows(t.places, sizes.hops.back().received);
  for (Tensor* each : {&t.expanded, &t.gate_up, &t.activated, &t.products, &t.dexpanded,
                       &t.dgate_up, &t.dactivated, &t.dproducts})
    *each = first_rows(*each, sizes.multiplied);
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
