#include <fmt/format.h>

#include "training/gpu/operations_fixture.h"

namespace duet {
namespace {

TEST_P(DeviceOperations, MakeTheSameTokens) {
  const StepState state{4, 77, 0, 1};
  const auto at_host = host_.allocate(sizeof state), at_device = device_->allocate(sizeof state);
  host_.write(at_host.span(), &state);
  device_->write(at_device.span(), &state);
  const Pair made = tokens(1000, 2);
  both([&](const Side& on) {
    const Span& span = on.is_host ? at_host.span() : at_device.span();
    on.run(Advance{span});
    on.run(RandomTokens{span, 50257, 1, on(made)});
  });
  expect_same(made, "tokens", 0);
}

TEST_P(DeviceOperations, Embed) {
  for (const std::int64_t width : {8, 1048}) {
    const std::int64_t rows = width == 8 ? 1100 : 300, length = 50;
    const Pair ids = tokens(rows, 11), table = normal(11, width, 1), places = normal(50, width, 2),
               x = normal(rows, width, 3), dx = normal(rows, width, 4);
    const Pair dtable = normal(11, width, 5), dplaces = normal(length, width, 6);
    const Pair tokens_alone = normal(rows, width, 7), dtokens_alone = normal(11, width, 8);
    both([&](const Side& on) {
      on.run(Embedding{on(ids), on(table), on(places), on(x)});
      on.run(EmbeddingBackward{on(ids), on(dx), on(dtable), on(dplaces),
                               width == 8 ? Accumulate::yes : Accumulate::no});
      on.run(Embedding{on(ids), on(table), {}, on(tokens_alone)});
      on.run(EmbeddingBackward{on(ids), on(dx), on(dtokens_alone), {}, Accumulate::no});
    });
    expect_same(tokens_alone, "x without positions", 0);
    expect_same(dtokens_alone, "token gradient without positions");
    expect_same(x, "x");
    expect_same(dtable, "token gradient");
    expect_same(dplaces, "position gradient");
  }
}

// Tables of 5 of 11 tokens.
TEST_P(DeviceOperations, EmbedAPartOfTheVocabulary) {
  const std::int64_t rows = 300, width = 24;
  const VocabularyPart part{4, 11};
  const Pair ids = tokens(rows, 11), table = normal(5, width, 1), places = normal(50, width, 2),
             x = normal(rows, width, 3), dx = normal(rows, width, 4), dtable = normal(5, width, 5),
             dplaces = normal(50, width, 6);
  both([&](const Side& on) {
    on.run(Embedding{on(ids), on(table), on(places), on(x), part});
    on.run(EmbeddingBackward{on(ids), on(dx), on(dtable), on(dplaces), Accumulate::no, part});
  });
  expect_same(x, "x");
  expect_same(dtable, "token gradient");
  expect_same(dplaces, "position gradient");
}

// Tokens choose among 40 experts, of which the second of two ranks has those from 20 on.
TEST_P(DeviceOperations, GatherAndCombineRowsOfExperts) {
  const std::int64_t tokens = 2 * kManyRows, experts = 40, width = 264;
  const auto table = [&](std::int64_t rows, std::int64_t columns) {
    return make(rows, columns, DType::int32, [](std::uint64_t) { return -7.0f; });
  };
  const Pair logits = make(tokens, experts, dtype(), [](std::uint64_t i) {
    return static_cast<float>(random_word(9, i) % 61) / 16;  // some are equal
  });
  struct Case {
    bool once;
    std::int64_t chosen;
  };
  for (const auto& [once, chosen] : {Case{true, 3}, {false, 3}, {true, 8}, {false, 6}}) {
    const std::int64_t groups = once ? 2 : 20;
    const Pair routing = table(tokens, 2 * chosen), index = table(1, tokens * chosen),
               sorted = table(1, tokens * chosen), places = table(tokens, once ? groups : chosen),
               offsets = table(1, groups + 1);
    both([&](const Side& on) {
      on.run(ChooseExperts{on(logits), once, on(routing)});
      on.run(GroupRows{on(routing), chosen, once ? 0 : 20, groups, once ? 20 : 1, once, on(index),
                       on(sorted), on(places), on(offsets)});
    });
    const auto row = static_cast<std::size_t>(2 * chosen);
    const std::vector<float> host = read(routing.host), device = read(routing.device);
    for (std::size_t i = 0; i < host.size(); ++i) {
      if (i % row >= row / 2) continue;  // a weight
      EXPECT_EQ(host[i], device[i]) << i;
    }
    Tensor host_weights = routing.host, device_weights = routing.device;
    host_weights.dtype = device_weights.dtype = DType::fp32;
    expect_same({host_weights, device_weights}, "weights", 1e-6);
    expect_same(index, "tokens of entries", 0);
    expect_same(sorted, "choices of entries", 0);
    expect_same(offsets, "offsets of groups", 0);
    expect_same(places, "places", 0);

    const std::vector<float> placed = read(places.host);
    const std::int64_t entries =
        std::count_if(placed.begin(), placed.end(), [](float place) { return place >= 0; });
    const Pair x = normal(tokens, width, 1), y = normal(tokens, width, 2),
               rows = normal(entries + 3, width, 3), numbers = table(entries, 2 * chosen);
    both([&](const Side& on) {
      Tensor count = on(offsets);
      count.span = count.span.slice(count.bytes() - 4, 4);
      count.columns = 1;
      on.run(GatherRows{on(x), on(index), on(rows), count});  // the last three stay as they are
      on.run(GatherRows{on(routing), on(index), on(numbers)});
      on.run(CombineRows{on(rows), on(places), once ? Tensor() : on(routing), on(y)});
    });
    expect_same(rows, "gathered rows", 0);
    const std::vector<float> host_numbers = read(numbers.host),
                             device_numbers = read(numbers.device);
    for (std::size_t i = 0; i < host_numbers.size(); i += row)
      EXPECT_EQ(host_numbers[i], device_numbers[i]) << i;
    expect_same(y, "combined rows");
  }
}

TEST_P(DeviceOperations, LimitChoicesOfExperts) {
  const std::int64_t tokens = 2 * kManyRows, experts = 10, chosen = 3;
  const Pair logits = make(tokens, experts, DType::fp32, [](std::uint64_t i) {
    return static_cast<float>(random_word(9, i) % 61) / 16;
  });
  const auto table = [&](std::int64_t rows, std::int64_t columns) {
    return make(rows, columns, DType::int32, [](std::uint64_t) { return -7.0f; });
  };
  const Pair routing = table(tokens, 2 * chosen), index = table(1, tokens * chosen),
             places = table(tokens, chosen), offsets = table(1, experts + 1);
  both([&](const Side& on) {
    on.run(ChooseExperts{on(logits), true, on(routing)});
    on.run(GroupRows{
        on(routing), chosen, 0, experts, 1, false, on(index), {}, on(places), on(offsets)});
    on.run(LimitChoices{on(routing), on(places), on(offsets), tokens / 5});
  });
  const std::vector<float> host = read(routing.host), device = read(routing.device);
  std::int64_t taken_back = 0;
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (i % (2 * chosen) >= chosen) continue;  // a weight
    EXPECT_EQ(host[i], device[i]) << i;
    if (host[i] < 0) ++taken_back;
  }
  EXPECT_GT(taken_back, 0);
}

TEST_P(DeviceOperations, CombineRowsBackward) {
  const std::int64_t tokens = kManyRows, chosen = 3, width = 2056;
  const Pair x = normal(2 * tokens, width, 1), dy = normal(tokens, width, 2),
             dx = normal(2 * tokens, width, 3);
  const Pair weights = make(tokens, 2 * chosen, DType::fp32,
                            [](std::uint64_t i) { return 0.25f * static_cast<float>(i % 5); });
  const Pair dweights = make(tokens, 8, DType::fp32, [](std::uint64_t) { return 7.0f; });
  const Pair places = make(tokens, chosen, DType::int32, [&](std::uint64_t i) {
    return i % 3 == 2 ? -1.0f : static_cast<float>(2 * (i / 3) + i % 3);
  });
  const auto as_routing = [](Tensor tensor) {
    tensor.dtype = DType::int32;
    return tensor;
  };
  both([&](const Side& on) {
    on.run(CombineRowsBackward{on(x), on(places), as_routing(on(weights)), on(dy), on(dx),
                               on(dweights)});
  });
  expect_same(dx, "gradient of rows");
  expect_same(dweights, "gradient of weights", 1e-5);
}

TEST_P(DeviceOperations, ChooseExpertsBackward) {
  const std::int64_t tokens = kManyRows, experts = 40, chosen = 3;
  const Pair logits = normal(tokens, experts, 1),
             routing = make(tokens, 2 * chosen, DType::int32, [](std::uint64_t) { return 7.0f; }),
             dweights = make(tokens, chosen, DType::fp32,
                             [](std::uint64_t i) { return random_normal(2, i); }),
             dlogits = normal(tokens, experts, 3);
  both([&](const Side& on) {
    on.run(ChooseExperts{on(logits), true, on(routing)});
    on.run(ChooseExpertsBackward{on(routing), on(dweights), on(dlogits)});
  });
  expect_same(dlogits, "gradients of logits");
}

// Groups without rows, of one, of whole tiles and of more; behind them rows of none, which stay.
TEST_P(DeviceOperations, MultiplyRowsOfExperts) {
  const std::vector<std::int64_t> begins = {0, 0, 1, 129, 385, 385, 400};
  const auto groups = static_cast<std::int64_t>(begins.size()) - 1;
  const std::int64_t in = 72, out = 264, room = 450;
  const Pair offsets = make(1, groups + 1, DType::int32,
                            [&](std::uint64_t i) { return static_cast<float>(begins[i]); });
  const Pair x = normal(room, in, 1), w = normal(groups * out, in, 2), y = normal(room, out, 3),
             dx = normal(room, in, 4), dw = normal(groups * out, in, 5);
  const Pair exact =
      make(groups * out, in, DType::fp32, [](std::uint64_t i) { return random_normal(6, i); });
  both([&](const Side& on) {
    const GroupedRows rows{on(offsets)};
    on.run(GroupedLinear{rows, on(x), on(w), on(y)});
    on.run(GroupedLinearBackwardInput{rows, on(y), on(w), on(dx)});
    on.run(GroupedLinearBackwardWeight{rows, on(y), on(x), on(dw)});
    on.run(GroupedLinearBackwardWeight{rows, on(y), on(x), on(exact), Accumulate::yes});
  });
  expect_same(y, "rows times matrices");
  expect_same(dx, "gradients of rows");
  expect_same(dw, "gradients of matrices");
  expect_same(exact, "gradients of matrices, added in fp32");
}

TEST_P(DeviceOperations, RowsInFp8) {
  const std::int64_t rows = kManyRows, width = 384;
  const Pair x = normal(rows, width, 1, 3.0f), y = normal(rows + 1, width, 2);
  const Pair bytes =
      make(rows, bytes_of_fp8_row(width), DType::int8, [](std::uint64_t) { return 7.0f; });
  const Pair index = make(1, rows + 1, DType::int32, [&](std::uint64_t i) {
    return static_cast<float>(random_word(4, i) % static_cast<std::uint64_t>(rows));
  });
  both([&](const Side& on) {
    on.run(QuantiseRows{on(x), on(bytes)});
    on.run(GatherFp8Rows{on(bytes), on(index), on(y)});
  });
  EXPECT_EQ(bytes_of(bytes.host), bytes_of(bytes.device));
  expect_same(y, "rows", dtype() == DType::fp32 ? 0 : tolerance());
}

TEST_P(DeviceOperations, Normalise) {
  for (const std::int64_t width :
       {8, 264, 520, 776, 1024, 1032, 1536, 2056, 3080, 4096, 5120, 16384}) {
    for (const std::int64_t rows : {std::int64_t{1}, kManyRows}) {
      for (const bool centred : {true, false}) {
        const Pair x = normal(rows, width, 1), weight = normal(1, width, 2),
                   bias = normal(1, width, 3), dy = normal(rows, width, 4),
                   y = normal(rows, width, 5), dx = normal(rows, width, 6),
                   dweight = normal(1, width, 7), dbias = normal(1, width, 8), mean = sums(rows),
                   inverse = sums(rows);
        const Accumulate accumulate = rows == 1 ? Accumulate::no : Accumulate::yes;
        both([&](const Side& on) {
          NormTensors norm{on(x), on(weight), {}, {}, on(inverse), on(dweight), {}};
          if (centred) {
            norm.bias = on(bias);
            norm.mean = on(mean);
            norm.bias_gradient = on(dbias);
          }
          on.run(Norm{norm, on(y)});
          on.run(NormBackward{norm, on(dy), on(dx), accumulate, accumulate});
          NormTensors frozen = norm;
          frozen.weight_gradient = frozen.bias_gradient = {};
          on.run(NormBackward{frozen, on(dy), on(dx), Accumulate::yes, Accumulate::no});
          on.run(NormBackward{norm, on(dy), on(dy), Accumulate::no, Accumulate::yes});
        });
        const std::string shape = fmt::format("{}{} x {}", centred ? "" : "rms, ", rows, width);
        expect_same(y, shape.c_str());
        expect_same(inverse, ("inverse of " + shape).c_str(), 1e-5);
        expect_same(dx, ("dx of " + shape).c_str());
        expect_same(dy, ("dx in place of dy of " + shape).c_str());
        expect_same(dweight, ("dweight of " + shape).c_str());
        expect_same(dbias, ("dbias of " + shape).c_str());
      }
    }
  }
}

TEST_P(DeviceOperations, Activate) {
  const Pair x = normal(37, 88, 1, 3), y = normal(37, 88, 2), dy = normal(37, 88, 3),
             other = normal(37, 88, 4);
  both([&](const Side& on) {
    on.run(Gelu{on(x), on(y)});
    on.run(GeluBackward{on(x), on(dy), on(dy)});
    on.run(Relu{on(x), on(x)});
    on.run(ReluBackward{on(x), on(other), on(other)});
  });
  expect_same(y, "gelu");
  expect_same(dy, "gelu backward");
  expect_same(x, "relu");
  expect_same(other, "relu backward");
}

TEST_P(DeviceOperations, Rotate) {
  constexpr AttentionShape kShapes[] = {{2, 19, 3, 16},      {1, 7, 6, 64, 2},  {2, 5, 8, 80, 4},
                                        {1, 33, 32, 128, 8}, {3, 4, 5, 144, 1}, {1, 9, 4, 256, 2}};
  for (const AttentionShape& s : kShapes) {
    const std::int64_t rows = s.batch * s.tokens, width = s.qkv_width(), dim = s.head_dim;
    const Pair qkv = normal(rows, width, 1), q_weight = normal(1, dim, 2),
               k_weight = normal(1, dim, 3), rotated = normal(rows, width, 4),
               drotated = normal(rows, width, 5), dqkv = normal(rows, width, 6),
               dq_weight = normal(1, dim, 7), dk_weight = normal(1, dim, 8),
               inverse = sums(rows * (s.heads + s.key_heads()));
    const Accumulate accumulate = s.batch == 1 ? Accumulate::no : Accumulate::yes;
    both([&](const Side& on) {
      const RotaryTensors tensors{s,           on(qkv),       on(q_weight), on(k_weight),
                                  on(inverse), on(dq_weight), on(dk_weight)};
      on.run(Rotate{tensors, on(rotated)});
      on.run(RotateBackward{tensors, on(drotated), on(dqkv), accumulate});
      on.run(RotateBackward{tensors, on(drotated), on(drotated), Accumulate::yes});
    });
    const std::string shape = std::to_string(s.heads) + " heads of " + std::to_string(dim);
    expect_same(rotated, shape.c_str());
    expect_same(inverse, ("inverse of " + shape).c_str(), 1e-5);
    expect_same(dqkv, ("dqkv of " + shape).c_str());
    expect_same(drotated, ("dqkv in place of " + shape).c_str());
    expect_same(dq_weight, ("dq_weight of " + shape).c_str());
    expect_same(dk_weight, ("dk_weight of " + shape).c_str());
  }
}

// Without a norm, of many tokens, at whose angles fp32 would be inexact.
TEST_P(DeviceOperations, RotateAlone) {
  const AttentionShape s{1, 8192, 1, 16};
  const Pair qkv = normal(s.tokens, s.qkv_width(), 1), rotated = normal(s.tokens, s.qkv_width(), 2),
             dqkv = normal(s.tokens, s.qkv_width(), 3);
  both([&](const Side& on) {
    const RotaryTensors tensors{s, on(qkv), {}, {}, {}, {}, {}};
    on.run(Rotate{tensors, on(rotated)});
    on.run(RotateBackward{tensors, on(rotated), on(dqkv), Accumulate::no});
  });
  const double tolerance = dtype() == DType::fp32 ? 1e-6 : 1e-2;
  expect_same(rotated, "rotated", tolerance);
  expect_same(dqkv, "dqkv", tolerance);
  EXPECT_LE(distance(read(qkv.device), read(dqkv.device)), tolerance) << "rotated back";
}

TEST_P(DeviceOperations, Gate) {
  const Pair offsets =
      make(1, 3, DType::int32, [](std::uint64_t i) { return 8 * static_cast<float>(i); });
  for (const std::int64_t columns : {8, 40, 2056}) {
    const Pair gate_up = normal(19, 2 * columns, 1, 3), y = normal(19, columns, 2),
               dy = normal(19, columns, 3), d = normal(19, 2 * columns, 4),
               y_of_groups = normal(19, columns, 5), d_of_groups = normal(19, 2 * columns, 6);
    both([&](const Side& on) {
      on.run(SwiGlu{on(gate_up), on(y_of_groups), {on(offsets)}});
      on.run(SwiGluBackward{on(gate_up), on(dy), on(d_of_groups), {on(offsets)}});
      on.run(SwiGlu{on(gate_up), on(y)});
      on.run(SwiGluBackward{on(gate_up), on(dy), on(d)});
      on.run(SwiGluBackward{on(gate_up), on(dy), on(gate_up)});
    });
    expect_same(y_of_groups, "swiglu of the rows that are there");
    expect_same(d_of_groups, "swiglu backward of the rows that are there");
    expect_same(y, "swiglu");
    expect_same(d, "swiglu backward");
    expect_same(gate_up, "swiglu backward in place");
  }
}

// Elements at both ends of what fp8 has, of which a GPU's exp() may round to the neighbour.
TEST_P(DeviceOperations, GateToFp8) {
  for (const std::int64_t columns : {8, 2056}) {
    for (const float factor : {1.0f / 64, 64.0f}) {
      const Pair gate_up = normal(19, 2 * columns, 1, 8),
                 y = make(19, columns, DType::fp8_e4m3, [](std::uint64_t) { return 7.0f; });
      both([&](const Side& on) { on.run(SwiGlu{on(gate_up), on(y), {}, factor}); });
      expect_same(y, "swiglu in fp8", 1e-2);
      const std::vector<float> values = read(y.device);
      EXPECT_EQ(*std::max_element(values.begin(), values.end()) == kLargestE4M3, factor > 1);
    }
  }
}

// To the bit. Sizes of parts of a tile and of several; elements of all binary orders that fp8 has.
TEST_P(DeviceOperations, Quantise) {
  constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {
      {16, 16}, {16, 400}, {272, 48}, {144, 1040}};
  for (const auto& [rows, columns] : kSizes) {
    const Pair x = make(rows, columns, dtype(), [](std::uint64_t i) {
      return std::ldexp(random_normal(1, i), -static_cast<int>(random_word(2, i) % 40));
    });
    for (const auto& [fp8, values, transposed] : {std::tuple{DType::fp8_e4m3, true, true},
                                                  {DType::fp8_e4m3, true, false},
                                                  {DType::fp8_e4m3, false, true},
                                                  {DType::fp8_e5m2, true, true}}) {
      const QuantisedPair made = quantise(x, fp8, values, transposed);
      for (const Pair& each : {made.values, made.transposed, made.scale}) {
        EXPECT_TRUE(bytes_of(each.device) == bytes_of(each.host)) << rows << " x " << columns;
      }
    }
  }
}

TEST_P(DeviceOperations, QuantiseWhatIsNotUsual) {
  for (const float value : {0.0f, 1e-38f, NAN, INFINITY}) {
    const Pair x = make(16, 32, dtype(), [=](std::uint64_t i) { return i == 77 ? value : -0.0f; });
    const QuantisedPair made = quantise(x);
    const bool finite = std::isfinite(value);
    const std::vector<float> values = read(made.values.device), scale = read(made.scale.device);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (finite) {
        EXPECT_EQ(values[i], 0) << value;
      } else if (i == 77) {
        EXPECT_TRUE(std::isnan(values[i])) << value;
      }
    }
    EXPECT_EQ(std::isfinite(scale[0]), finite) << value;
    if (finite) {
      EXPECT_EQ(scale[0], 1);
    }
  }
  const Tensor odd = normal(16, 24, 1).device, one = sums(1).device;
  const Quantised to{quantised(16, 24, DType::fp8_e4m3).values.device, {}, one};
  EXPECT_THROW(operations_->run(*stream_, Quantise{odd, one, to}), Unavailable);
}

// Fast sums, and those of tensor cores between additions in fp32, have few bits.
TEST_P(DeviceOperations, MultiplyInFp8) {
  if (kEmulated) GTEST_SKIP() << "no GEMMs in fp8";
  const QuantisedPair a = quantise(normal(48, 272, 1, 3)), b = quantise(normal(80, 272, 2, 0.1f));
  const QuantisedPair gradient = quantise(normal(48, 272, 1, 3), DType::fp8_e5m2);
  const Pair added = normal(48, 80, 3), y = normal(48, 80, 4), sum = normal(48, 80, 5),
             dy = normal(48, 80, 6);
  both([&](const Side& on) {
    on.run(MultiplyScaled{gradient(on).by_rows(), b(on).by_rows(), {}, on(dy), Sums::precise});
    on.run(MultiplyScaled{a(on).by_rows(), b(on).by_rows(), {}, on(y), Sums::fast});
    on.run(MultiplyScaled{a(on).by_rows(), b(on).by_rows(), on(added), on(sum), Sums::fast});
    on.run(MultiplyScaled{a(on).by_rows(), b(on).by_rows(), on(added), on(added), Sums::precise});
  });
  for (const Pair& each : {y, sum, added, dy}) expect_same(each, "product in fp8", 1e-2);
}

TEST_P(DeviceOperations, Attend) {
  constexpr AttentionShape kShapes[] = {{2, 37, 3, 8},     {1, 130, 2, 64},   {2, 128, 2, 80},
                                        {1, 256, 3, 128},  {2, 37, 6, 40, 2}, {1, 256, 8, 128, 2},
                                        {3, 130, 4, 64, 1}};
  for (AttentionShape s : kShapes) {
    if (kEmulated) s.tokens = std::min<std::int64_t>(s.tokens, 21);
    const std::int64_t rows = s.batch * s.tokens;
    const Pair qkv = normal(rows, s.qkv_width(), 1), out = normal(rows, s.width(), 2),
               dout = normal(rows, s.width(), 3), dqkv = normal(rows, s.qkv_width(), 4);
    const Pair sum =
        make(s.batch * s.heads, s.tokens, DType::fp32, [](std::uint64_t) { return 0.0f; });
    both([&](const Side& on) {
      const AttentionTensors tensors{s, on(qkv), on(out), on(sum)};
      on.run(Attention{tensors});
      on.run(AttentionBackward{tensors, on(dout), on(dqkv)});
    });
    const std::string shape = std::to_string(s.tokens) + " x " + std::to_string(s.head_dim) +
                              ", heads " + std::to_string(s.heads) + "/" +
                              std::to_string(s.key_heads());
    expect_same(out, shape.c_str());
    expect_same(sum, ("log sum exp of " + shape).c_str());
    expect_same(dqkv, ("dqkv of " + shape).c_str());
  }
}

TEST_P(DeviceOperations, ScaleAndKeepBlocks) {
  const Pair scaled = normal(19, 13, 1), blocks = normal(37, 12, 2), one = normal(9, 5, 3);
  both([&](const Side& on) {
    on.run(Scale{-0.375, on(scaled)});
    on.run(KeepBlocks{{{0, 17}, {17, 18}, {30, 37}}, on(blocks)});
    on.run(KeepBlocks{{{2, 9}}, on(one)});
  });
  for (const Pair& each : {scaled, blocks, one}) expect_same(each, "adapters");
}

TEST_P(DeviceOperations, AddAndBeginAPart) {
  const Pair a = normal(19, 24, 1), b = normal(19, 24, 2), sum = normal(19, 24, 3);
  const Pair whole = normal(19, 24, 4), part = normal(7, 8, 5);
  both([&](const Side& on) {
    on.run(Add{on(a), on(b), on(sum)});
    on.run(Add{on(a), on(b), on(b)});
    on.run(FillNormal{3, 100, 0.5, on(whole)});
    on.run(FillNormal{3, 100 + 12 * 24 + 16, 0.5, on(part), 24});
  });
  for (const Pair& each : {sum, b, whole, part}) expect_same(each, "result");
  EXPECT_EQ(read(sum.host), read(b.host));
  const std::vector<float> all = read(whole.device), own = read(part.device);
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(own[i], all[(12 + i / 8) * 24 + 16 + i % 8]);
  }
}

TEST_P(DeviceOperations, Multiply) {
  if (!multiplies()) GTEST_SKIP() << "no GEMMs in bf16";
  const Pair x = normal(40, 72, 1), w = normal(56, 72, 2), dy = normal(40, 56, 3),
             y = normal(40, 56, 4), sum = normal(40, 56, 5), dx = normal(40, 72, 6),
             dw = normal(56, 72, 7), added = normal(56, 72, 8);
  both([&](const Side& on) {
    on.run(LinearForward{on(x), on(w), on(y)});
    on.run(LinearAdd{on(x), on(w), on(dy), on(sum)});
    on.run(LinearBackwardInput{on(dy), on(w), on(dx), Accumulate::no});
    on.run(LinearBackwardInput{on(dy), on(w), on(dx), Accumulate::yes});
    on.run(LinearBackwardWeight{on(dy), on(x), on(dw), Accumulate::no});
    on.run(LinearBackwardWeight{on(dy), on(x), on(added), Accumulate::no});
    on.run(LinearBackwardWeight{on(dy), on(x), on(added), Accumulate::yes});
  });
  for (const Pair& each : {y, sum, dx, dw, added}) expect_same(each, "linear");
}

// By one GEMM or by two kernels; rounding the product first, or not.
TEST_P(DeviceOperations, LinearsWithGelu) {
  if (!multiplies()) GTEST_SKIP() << "no GEMMs in bf16";
  const std::int64_t rows = 72, in = 136, out = 200;
  const Pair x = normal(rows, in, 1), w = normal(out, in, 2, 0.1f), dy = normal(rows, in, 3);
  const Pair back = normal(in, out, 4, 0.1f);
  const Pair hidden = normal(rows, out, 5), activated = normal(rows, out, 6),
             dhidden = normal(rows, out, 7);
  both([&](const Side& on) {
    on.run(LinearGelu{on(x), on(w), on(hidden), on(activated)});
    on.run(LinearBackwardGelu{on(dy), on(back), on(hidden), on(dhidden)});
  });
  for (const Pair& each : {hidden, activated, dhidden}) expect_same(each, "linear with GELU");
}

TEST_P(DeviceOperations, Clip) {
  const Pair one = normal(1, 128 * 700, 1), other = normal(1, 256, 2), squares = sums(1),
             norm = sums(1);
  const StepState state{3, 0, 0, 0};
  const auto at_host = host_.allocate(sizeof state), at_device = device_->allocate(sizeof state);
  host_.write(at_host.span(), &state);
  device_->write(at_device.span(), &state);
  both([&](const Side& on) {
    on.run(SumOfSquares{{on(one), on(other)}, on(squares)});
    on.run(Clip{on.is_host ? at_host.span() : at_device.span(), on(squares), 0.5, 10, on(norm)});
  });
  expect_same(norm, "norm", 1e-5);
  StepState expected, found;
  host_.read(at_host.span(), &expected);
  device_->read(at_device.span(), &found);
  EXPECT_NEAR(found.gradient_factor, expected.gradient_factor, 1e-5 * expected.gradient_factor);
}

// With fp32 parameters or a master; bf16 alone rounds stochastically (below).
TEST_P(DeviceOperations, Update) {
  const std::int64_t count = 128 * 300;
  const auto fp32 = [&](std::uint64_t seed) {
    return make(1, count, DType::fp32, [=](std::uint64_t i) { return random_normal(seed, i); });
  };
  const Pair weights = fp32(1), gradient = normal(1, count, 2), rounded = normal(1, count, 3);
  const Pair first = fp32(4), second = make(1, count, DType::fp32, [](std::uint64_t i) {
                                return std::abs(random_normal(5, i));
                              });
  const StepState state{3, 0, 1e-2, 0.5};
  const auto at_host = host_.allocate(sizeof state), at_device = device_->allocate(sizeof state);
  host_.write(at_host.span(), &state);
  device_->write(at_device.span(), &state);
  both([&](const Side& on) {
    OptimizerTensors tensors{on(weights), on(gradient), on(first), on(second), {}};
    if (!on.is_host && dtype() == DType::bf16) {
      tensors.parameters = on(rounded);
      tensors.master = on(weights);
    }
    on.run(AdamW{{}, on.is_host ? at_host.span() : at_device.span(), tensors});
  });
  expect_same(weights, "weights", 1e-5);
  expect_same(first, "first moments", 1e-5);
  expect_same(second, "second moments", 1e-5);
  if (dtype() == DType::bf16) expect_same({weights.host, rounded.device}, "rounded weights");
}

// Updates of 1e-4 of parameters near 1, whose neighbours in bf16 are 4e-3 and 8e-3 away.
TEST_P(DeviceOperations, RoundSmallUpdatesWithTheRightMean) {
  if (dtype() != DType::bf16) GTEST_SKIP() << "of bf16";
  const std::int64_t count = 1 << 20;
  const auto constant = [&](float value) {
    return make(1, count, DType::bf16, [=](std::uint64_t) { return value; }).device;
  };
  const Tensor weights = constant(1), gradient = constant(1);
  const OptimizerTensors tensors{weights, gradient, constant(0), constant(0), {}};
  const StepState state{1, 9, 1e-4, 1};
  const auto at_device = device_->allocate(sizeof state);
  device_->write(at_device.span(), &state);
  AdamWOptions options;
  options.weight_decay = 0;
  operations_->run(*stream_, AdamW{options, at_device.span(), tensors});
  stream_->synchronize(kDeviceDeadline);
  double sum = 0;
  for (const float value : read(weights)) sum += 1 - static_cast<double>(value);
  EXPECT_NEAR(sum / static_cast<double>(count), 1e-4, 3e-6);
}

TEST_P(DeviceOperations, RoundTheSameInParts) {
  const std::int64_t count = 1024, half = 512;
  const StepState state{1, 9, 1e-3, 1};
  const auto at_device = device_->allocate(sizeof state);
  device_->write(at_device.span(), &state);
  const auto update = [&](std::int64_t parts) {
    const Tensor all[] = {normal(1, count, 1).device, normal(1, count, 2).device,
                          normal(1, count, 3).device,
                          make(1, count, dtype(), [](std::uint64_t) { return 1.0f; }).device};
    const auto part = [&](const Tensor& tensor, std::int64_t first) {
      Tensor own{{}, 1, count / parts, tensor.dtype};
      own.span =
          tensor.span.slice(static_cast<std::uint64_t>(first) * size_of(tensor.dtype), own.bytes());
      return own;
    };
    for (std::int64_t first = 0; first < count; first += count / parts) {
      const OptimizerTensors own{part(all[0], first),
                                 part(all[1], first),
                                 part(all[2], first),
                                 part(all[3], first),
                                 {},
                                 first};
      operations_->run(*stream_, AdamW{{}, at_device.span(), own});
    }
    stream_->synchronize(kDeviceDeadline);
    return read(all[0]);
  };
  EXPECT_EQ(update(1), update(count / half));
}

TEST_P(DeviceOperations, KeepWhatIsNotFinite) {
  const auto constant = [&](float value) {
    return make(1, 128, dtype(), [=](std::uint64_t) { return value; }).device;
  };
  const Tensor gradient = make(1, 128, dtype(), [](std::uint64_t i) {
                            return i == 5 ? NAN : i == 9 ? INFINITY : 1.0f;
                          }).device;
  const OptimizerTensors tensors{constant(1), gradient, constant(0), constant(0), {}};
  const StepState state{1, 9, 1e-4, 1};
  const auto at_device = device_->allocate(sizeof state);
  device_->write(at_device.span(), &state);
  operations_->run(*stream_, AdamW{{}, at_device.span(), tensors});
  operations_->run(*stream_, Sgd{at_device.span(), tensors});
  stream_->synchronize(kDeviceDeadline);
  const std::vector<float> weights = read(tensors.parameters);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(std::isfinite(weights[i]), i != 5 && i != 9) << i;
  }
  EXPECT_TRUE(std::isnan(read(tensors.first_moments)[5]));
  EXPECT_TRUE(std::isinf(read(tensors.first_moments)[9]));
}

INSTANTIATE_TEST_SUITE_P(Gpus, DeviceOperations,
                         ::testing::Combine(::testing::ValuesIn(kDevices),
                                            ::testing::Values(DType::fp32, DType::bf16)),
                         label);

}  // namespace
}  // namespace duet
