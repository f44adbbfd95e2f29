#include "gemm/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/names.h"
#include "core/units.h"

namespace duet {
namespace {

constexpr std::int64_t kLongestSide = 1 << 24;  // so that a product of two sides fits into 64 bits

struct Triple {
  std::int64_t a, b, c;
};

struct ShapeSet {
  const char* name;
  bool middle_is_k;  // the triples are (M, K, N)
  std::vector<Triple> triples;
};

// The list of the MI350X GEMM study, which reads the numbers as (M, N, K). They are those of
// Llama 3.1 70B's layers on eight GPUs as SemiAnalysis measured them, which reads them as (M, K,
// N).
const std::vector<Triple>& llama_list() {
  static const std::vector<Triple> list{
      {8192, 8192, 8192},  {16384, 8192, 7168}, {16384, 16384, 16384}, {16384, 1024, 8192},
      {16384, 3584, 8192}, {4096, 4096, 4096},  {16384, 8192, 1280},
  };
  return list;
}

const std::vector<ShapeSet>& shape_sets() {
  static const std::vector<ShapeSet> sets{
      {"seed", false, llama_list()},
      {"llama", true, llama_list()},
      {"squares", false, {{4096, 4096, 4096}, {8192, 8192, 8192}, {16384, 16384, 16384}}},
      // Table I of the ConCCL paper: cb1 to cb5 (compute-bound), mb1 and mb2 (memory-bound).
      {"c3",
       false,
       {{8192, 8192, 8192},
        {16384, 8192, 16384},
        {16384, 16384, 8192},
        {18432, 8192, 16384},
        {106496, 8192, 16384},
        {8192, 57344, 8192},
        {16384, 106496, 8192}}},
      // For a CPU: two cubes and a thin shape, each under a second on two cores.
      {"quick", false, {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 64, 4096}}},
  };
  return sets;
}

[[noreturn]] void refuse(std::string_view text, const char* why) {
  throw UsageError(
      fmt::format("shape '{}'{}: {}; expected MxNxK (4096x4096x512) or one of the sets {}", text,
                  did_you_mean(text, shape_set_names()), why, fmt::join(shape_set_names(), ", ")));
}

std::int64_t parse_side(std::string_view side, std::string_view shape) {
  std::int64_t value = 0;
  const char* end = side.data() + side.size();
  const auto [rest, error] = std::from_chars(side.data(), end, value);
  if (error != std::errc() || rest != end) refuse(shape, "not three numbers");
  if (value < 1 || value > kLongestSide) refuse(shape, "sides go from 1 to 16777216");
  return value;
}

GemmShape parse_one(std::string_view text) {
  const std::size_t first = text.find('x');
  const std::size_t second = first == text.npos ? text.npos : text.find('x', first + 1);
  if (second == text.npos) refuse(text, "not a shape");
  return {parse_side(text.substr(0, first), text),
          parse_side(text.substr(first + 1, second - first - 1), text),
          parse_side(text.substr(second + 1), text),
          {"custom"}};
}

std::vector<GemmShape> parse_item(std::string_view text) {
  for (const ShapeSet& set : shape_sets()) {
    if (set.name != text) continue;
    std::vector<GemmShape> shapes;
    for (const Triple& t : set.triples) {
      shapes.push_back(set.middle_is_k ? GemmShape{t.a, t.c, t.b, {set.name}}
                                       : GemmShape{t.a, t.b, t.c, {set.name}});
    }
    return shapes;
  }
  return {parse_one(text)};
}

void merge(std::vector<GemmShape>& shapes, const GemmShape& shape) {
  const auto same = std::find_if(shapes.begin(), shapes.end(), [&](const GemmShape& other) {
    return other.m == shape.m && other.n == shape.n && other.k == shape.k;
  });
  if (same == shapes.end()) {
    shapes.push_back(shape);
    return;
  }
  for (const std::string& set : shape.sets) {
    if (std::find(same->sets.begin(), same->sets.end(), set) == same->sets.end()) {
      same->sets.push_back(set);
    }
  }
}

}  // namespace

std::vector<std::string> shape_set_names() {
  std::vector<std::string> names;
  for (const ShapeSet& set : shape_sets()) names.emplace_back(set.name);
  return names;
}

std::vector<GemmShape> parse_shapes(std::string_view text) {
  std::vector<GemmShape> shapes;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    for (const GemmShape& shape : parse_item(trim(rest.substr(0, comma)))) merge(shapes, shape);
    if (comma == rest.npos) return shapes;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace duet
