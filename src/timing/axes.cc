#include "timing/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace duet {
namespace {

template <typename Value>
std::optional<Value> value_of(const AxisValue* value) {
  const auto* found = value == nullptr ? nullptr : std::get_if<Value>(value);
  return found == nullptr ? std::nullopt : std::optional<Value>(*found);
}

// Includes the type's index, so that 1, 1.0, true and "1" differ, and the text's length, so that no
// text can look like two.
std::string key_of(const AxisValue& value) {
  const std::string text = std::visit(
      [](const auto& v) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::vector<std::string>>) {
          return "";
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
  return fmt::format("{}:{}:{}", value.index(), text.size(), text);
}

}  // namespace

bool is_label(const AxisValue& value) {
  return std::holds_alternative<std::vector<std::string>>(value);
}

std::optional<std::string> Axes::text(std::string_view name) const {
  return value_of<std::string>(find(name));
}

std::optional<std::int64_t> Axes::number(std::string_view name) const {
  return value_of<std::int64_t>(find(name));
}

std::optional<bool> Axes::flag(std::string_view name) const { return value_of<bool>(find(name)); }

Axes Axes::without(const std::vector<std::string>& names) const {
  Axes others;
  for (const Axis& axis : axes_) {
    if (std::find(names.begin(), names.end(), axis.first) == names.end()) {
      others.axes_.set(axis.first, axis.second);
    }
  }
  return others;
}

std::string Axes::key() const {
  std::vector<const Axis*> sorted;
  for (const Axis& axis : axes_) {
    if (!is_label(axis.second)) sorted.push_back(&axis);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Axis* a, const Axis* b) { return a->first < b->first; });
  std::string key;
  for (const Axis* axis : sorted) {
    key += fmt::format("{}:{}={};", axis->first.size(), axis->first, key_of(axis->second));
  }
  return key;
}

}  // namespace duet
