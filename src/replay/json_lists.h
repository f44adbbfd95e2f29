// Lists in traces; what is not of the expected type is left out, or "".
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace duet {

inline std::vector<std::vector<std::int64_t>> number_lists(const nlohmann::ordered_json& lists) {
  std::vector<std::vector<std::int64_t>> all;
  if (!lists.is_array()) return all;
  for (const auto& each : lists) {
    std::vector<std::int64_t>& list = all.emplace_back();
    if (!each.is_array()) continue;
    for (const auto& number : each) {
      if (number.is_number_integer()) list.push_back(number.get<std::int64_t>());
    }
  }
  return all;
}

inline std::vector<std::string> text_list(const nlohmann::ordered_json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const auto& each : list) texts.push_back(each.is_string() ? each.get<std::string>() : "");
  return texts;
}

}  // namespace duet
