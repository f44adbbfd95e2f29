#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "training/gpu/operations_fixture.h"

// Instantiated in operations_test.cc.
namespace duet {
namespace {

// Sizes around those of shared memory. The targets' own elements would hide all others.
TEST_P(DeviceOperations, TakeTheLoss) {
  for (const std::int64_t columns : {128, 12288, 24576, 50304, 131072}) {
    const std::int64_t rows = 7, vocabulary = columns - 31;
    const Pair logits = normal(rows, columns, 1, 2);
    const Pair targets = tokens(rows, static_cast<std::uint64_t>(vocabulary));
    const Pair losses = sums(rows), loss = sums(1);
    both([&](const Side& on) {
      on.run(CrossEntropy{on(logits), vocabulary, on(targets), on(losses), on(loss)});
    });
    expect_same(losses, "losses", 1e-5);
    expect_same(loss, "loss", 1e-5);
    std::vector<float> expected = read(logits.host), found = read(logits.device);
    const std::vector<float> target = read(targets.host);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto begin = static_cast<std::size_t>(row * columns);
      const std::size_t at =
          begin + static_cast<std::size_t>(target[static_cast<std::size_t>(row)]);
      EXPECT_NEAR(found[at], expected[at], 1e-2);
      found[at] = expected[at] = 0;
      for (auto i = begin + static_cast<std::size_t>(vocabulary); i < begin + columns; ++i) {
        EXPECT_EQ(found[i], 0) << "padding";
      }
    }
    EXPECT_LE(distance(expected, found), dtype() == DType::fp32 ? 1e-5 : 5e-3) << columns;
  }
}

// Of ranks that have columns [0, 10), [10, 27) and [27, 37) of the vocabulary, as of one.
TEST_P(DeviceOperations, TakeTheLossByPartsOfTheVocabulary) {
  constexpr std::int64_t kLossRows = 13, kWords = 37, kFirsts[] = {0, 10, 27, kWords};
  const Pair whole = normal(kLossRows, 40, 1, 2), losses = sums(kLossRows), loss = sums(1);
  const Pair targets = tokens(kLossRows, kWords);
  const std::vector<float> values = read(whole.host);
  both([&](const Side& on) {
    on.run(CrossEntropy{on(whole), kWords, on(targets), on(losses), on(loss)});
  });
  const Pair all = make(3 * kLossRows, 3, DType::fp32, [](std::uint64_t) { return 0.0f; });
  std::vector<Pair> parts;
  const auto own = [&](const Side& on, std::size_t rank) {
    const VocabularyPart part{kFirsts[rank], kWords};
    const auto first = static_cast<std::int64_t>(rank) * kLossRows;
    return CrossEntropySums{on(parts[rank]), kFirsts[rank + 1] - kFirsts[rank], on(targets), part,
                            rows_of(on(all), {first, first + kLossRows})};
  };
  for (std::size_t rank = 0; rank < 3; ++rank) {
    parts.push_back(make(kLossRows, 24, dtype(), [&](std::uint64_t i) {  // with padding
      const std::uint64_t column = i % 24 + static_cast<std::uint64_t>(kFirsts[rank]);
      return column < kWords ? values[i / 24 * 40 + column] : NAN;
    }));
    both([&](const Side& on) { on.run(own(on, rank)); });
  }
  expect_same(all, "sums", 1e-5);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const Pair part_losses = sums(kLossRows);
    both([&](const Side& on) {
      CrossEntropySums sums_of_all = own(on, rank);
      sums_of_all.sums = on(all);
      on.run(CrossEntropyOfPart{sums_of_all, kLossRows, on(part_losses)});
    });
    EXPECT_LE(distance(read(losses.host), read(part_losses.host)), 1e-5);
    EXPECT_LE(distance(read(losses.host), read(part_losses.device)), 1e-5);
    const std::vector<float> expected = read(whole.host);
    std::vector<float> of_part(kLossRows * 24);
    const auto count = static_cast<std::size_t>(kFirsts[rank + 1] - kFirsts[rank]);
    for (std::size_t i = 0; i < of_part.size(); ++i) {
      const std::size_t column = i % 24;
      if (column >= count) continue;  // padding becomes 0
      of_part[i] = expected[i / 24 * 40 + column + static_cast<std::size_t>(kFirsts[rank])];
    }
    EXPECT_LE(distance(of_part, read(parts[rank].host)), 1e-5) << rank;
    EXPECT_LE(distance(of_part, read(parts[rank].device)), tolerance()) << rank;
  }
}

// Bits do not depend on the pieces.
TEST_P(DeviceOperations, TakeTheLossInPieces) {
  constexpr std::int64_t kLossRows = 13, kLossColumns = 16, kLossWords = 11;
  const auto rows_of = [](const Tensor& tensor, std::int64_t first, std::int64_t rows) {
    const auto row_bytes = tensor.bytes() / kLossRows;
    Tensor part{{}, rows, tensor.count() / kLossRows, tensor.dtype};
    part.span = tensor.span.slice(static_cast<std::uint64_t>(first) * row_bytes, part.bytes());
    return part;
  };
  const Pair targets = tokens(kLossRows, kLossWords);
  const auto take = [&](std::int64_t piece) {
    const Pair logits = normal(kLossRows, kLossColumns, 1, 2), losses = sums(kLossRows),
               loss = sums(1);
    both([&](const Side& on) {
      for (std::int64_t first = 0; first < kLossRows; first += piece) {
        const std::int64_t rows = std::min(piece, kLossRows - first);
        on.run(CrossEntropyPiece{rows_of(on(logits), first, rows), kLossWords,
                                 rows_of(on(targets), first, rows), kLossRows,
                                 rows_of(on(losses), first, rows)});
      }
      on.run(Mean{on(losses), on(loss)});
    });
    return std::array<Pair, 3>{logits, losses, loss};
  };
  const Pair logits = normal(kLossRows, kLossColumns, 1, 2), losses = sums(kLossRows),
             loss = sums(1);
  both([&](const Side& on) {
    on.run(CrossEntropy{on(logits), kLossWords, on(targets), on(losses), on(loss)});
  });
  for (const std::int64_t piece : {1, 5, 13}) {
    const std::array<Pair, 3> whole{logits, losses, loss}, pieces = take(piece);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(read(pieces[i].host), read(whole[i].host)) << piece << ", result " << i;
      EXPECT_EQ(read(pieces[i].device), read(whole[i].device)) << piece << ", result " << i;
    }
  }
}

TEST_P(DeviceOperations, TakeTheSquaredError) {
  const Pair prediction = normal(19, 4136, 1), target = normal(19, 4136, 2);
  const Pair losses = sums(19), loss = sums(1);
  both([&](const Side& on) {
    on.run(MeanSquaredError{on(prediction), on(target), on(losses), on(loss)});
  });
  expect_same(losses, "losses", 1e-5);
  expect_same(loss, "loss", 1e-5);
  expect_same(prediction, "gradient");
}

}  // namespace
}  // namespace duet
