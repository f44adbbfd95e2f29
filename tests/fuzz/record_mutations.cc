#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "mutations.h"

namespace duet {
namespace {

template <typename Node>  // Json or const Json
void collect(Node& node, std::vector<Node*>& nodes) {
  nodes.push_back(&node);
  if (node.is_structured()) {
    for (Node& child : node) collect(child, nodes);
  }
}

template <typename Node>
std::vector<Node*> nodes_of(Node& root) {
  std::vector<Node*> nodes;
  collect(root, nodes);
  return nodes;
}

Json odd_value(Dice& dice) {
  static const std::vector<Json> kValues = {nullptr,
                                            true,
                                            false,
                                            0,
                                            -1,
                                            1,
                                            0.5,
                                            1e308,
                                            -1e308,
                                            std::numeric_limits<double>::denorm_min(),
                                            std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::int64_t>::max(),
                                            std::numeric_limits<std::uint64_t>::max(),
                                            "",
                                            "cuda:0",
                                            "measured",
                                            "failed",
                                            "a,\"b\"\r\nc",
                                            std::string("\0\x1b[31m", 6),
                                            "\u00e4\u4e2d",
                                            std::string(5000, 'x'),
                                            Json::array(),
                                            Json::object(),
                                            Json::parse(R"(["word"])"),
                                            Json::parse(R"([[1]])"),
                                            Json::parse(R"({"reason": 1})"),
                                            Json::parse(R"({"name": "x"})")};
  return dice.one_of(kValues);
}

// A new value, or a value from another place of the two records.
void replace_value(Json& record, const Json& other, Dice& dice) {
  const auto nodes = nodes_of(record);
  const auto others = nodes_of(other);
  Json& node = *nodes[dice.below(nodes.size())];
  node = dice.below(3) == 0 ? Json(*others[dice.below(others.size())]) : odd_value(dice);
}

// A number of the same type but of any size: the record mostly stays valid.
void replace_number(Json& record, const Json&, Dice& dice) {
  std::vector<Json*> numbers;
  for (Json* node : nodes_of(record)) {
    if (node->is_number()) numbers.push_back(node);
  }
  if (numbers.empty()) return;
  Json& number = *numbers[dice.below(numbers.size())];
  static const std::vector<double> kScales = {0, -1, 1e-300, 1e-9, 0.5, 1.01, 2, 1e9, 1e290};
  const double scaled = number.get<double>() * dice.one_of(kScales);
  if (number.is_number_float()) {
    number = scaled;
  } else {
    number = static_cast<std::int64_t>(dice.word() >> dice.below(64));
  }
}

void swap_values(Json& record, const Json&, Dice& dice) {
  const auto nodes = nodes_of(record);
  Json& a = *nodes[dice.below(nodes.size())];
  Json& b = *nodes[dice.below(nodes.size())];
  const Json was = a;  // a copy, because one value may contain the other
  const Json is = b;
  a = is;
  if (&a != &b && nodes_of(record) == nodes) b = was;
}

Json* container(Json& record, Dice& dice) {
  std::vector<Json*> found;
  for (Json* node : nodes_of(record)) {
    if (node->is_structured() && !node->empty()) found.push_back(node);
  }
  return found.empty() ? nullptr : found[dice.below(found.size())];
}

void erase_some(Json& record, const Json&, Dice& dice) {
  Json* from = container(record, dice);
  if (from == nullptr) return;
  const std::size_t place = dice.below(from->size());
  if (from->is_array()) {
    from->erase(place);
  } else {
    from->erase(std::next(from->begin(), static_cast<std::ptrdiff_t>(place)).key());
  }
}

void add_some(Json& record, const Json& other, Dice& dice) {
  Json* to = container(record, dice);
  if (to == nullptr) return;
  if (to->is_array()) {
    to->push_back(dice.below(2) == 0 ? to->front() : odd_value(dice));
    return;
  }
  static const std::vector<std::string> kKeys = {"",      "name",    "bytes",  "source", "reason",
                                                 "shape", "skipped", "failed", "grid",   "x\ny"};
  const bool from_other = other.is_object() && !other.empty() && dice.below(2) == 0;
  std::string key = dice.one_of(kKeys);
  if (from_other) {
    const auto place = static_cast<std::ptrdiff_t>(dice.below(other.size()));
    key = std::next(other.begin(), place).key();
  }
  (*to)[key] = from_other ? other[key] : odd_value(dice);
}

constexpr std::array kMutations = {replace_value, replace_number, replace_number,
                                   swap_values,   erase_some,     add_some};

}  // namespace

void change_record(Json& record, const Json& other, Dice& dice) {
  dice.one_of(kMutations)(record, other, dice);
}

}  // namespace duet
