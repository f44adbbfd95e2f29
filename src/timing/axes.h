// The parameters of a case, by name. They distinguish it from the other cases of its benchmark.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/by_name.h"

namespace duet {

// A list of texts is a label (the sets that a shape belongs to): shown, but no part of a case's
// identity.
using AxisValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::string>>;

bool is_label(const AxisValue& value);

// Axes in the order in which they are shown and written to journals. Names are unique.
class Axes {
 public:
  using Axis = ByName<AxisValue>::Entry;
  using Iterator = ByName<AxisValue>::Iterator;

  Axes() = default;
  Axes(std::initializer_list<Axis> axes) : axes_(axes) {}

  // Replaces the value of the axis in its place, or appends a new axis.
  void set(std::string_view name, AxisValue value) { axes_.set(name, std::move(value)); }

  // nullptr if there is no such axis. Valid until the next set().
  const AxisValue* find(std::string_view name) const { return axes_.find(name); }

  // The value of an axis; nothing if there is no such axis or its value has another type.
  std::optional<std::string> text(std::string_view name) const;
  std::optional<std::int64_t> number(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;

  // A copy without the axes in `names`, in the same order.
  Axes without(const std::vector<std::string>& names) const;

  // A text that is equal for the same names and values in any order; labels do not count.
  std::string key() const;
  // The axes that have this key, sorted by name and without labels. Throws BadArgument for a text
  // that is no key.
  static Axes from_key(std::string_view key);

  Iterator begin() const { return axes_.begin(); }
  Iterator end() const { return axes_.end(); }
  std::size_t size() const { return axes_.size(); }
  bool empty() const { return axes_.empty(); }

  // Compares names, values, order and labels.
  bool operator==(const Axes& other) const { return axes_ == other.axes_; }
  bool operator!=(const Axes& other) const { return axes_ != other.axes_; }

 private:
  ByName<AxisValue> axes_;
};

}  // namespace duet
