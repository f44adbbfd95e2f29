// Fields of JSON that another tool wrote, of which none need be there or be of the right type.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "importing/words.h"

namespace duet {

// The value of a key; null if `object` is no object or has no such key.
inline const nlohmann::ordered_json& value_at(const nlohmann::ordered_json& object,
                                              const char* key) {
  static const nlohmann::ordered_json kNone;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return !object.is_object() || found == object.end() ? kNone : *found;
}

// "" if the value is no text.
inline std::string text_at(const nlohmann::ordered_json& object, const char* key) {
  const auto& value = value_at(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

// A number that is 0 or more, or such a number as text.
inline std::optional<double> amount_at(const nlohmann::ordered_json& object, const char* key) {
  const auto& value = value_at(object, key);
  if (value.is_string()) return amount_of(value.get<std::string>());
  if (!value.is_number() || value.get<double>() < 0) return std::nullopt;
  return value.get<double>();
}

// A whole number from 0 to 2^63 - 1.
inline std::optional<std::int64_t> count_at(const nlohmann::ordered_json& object, const char* key) {
  const auto& value = value_at(object, key);
  return value.is_number_unsigned() ? count_of(value.dump()) : std::nullopt;
}

}  // namespace duet
