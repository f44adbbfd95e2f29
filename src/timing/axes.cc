#include "timing/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "core/error.h"

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

// Reads a key from its begin on.
class KeyReader {
 public:
  explicit KeyReader(std::string_view rest) : rest_(rest) {}
  bool at_end() const { return rest_.empty(); }

  // "3:abc" is abc.
  std::string text() {
    const std::size_t size = number();
    expect(':');
    if (size > rest_.size()) fail();
    const std::string found(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return found;
  }
  std::size_t number() {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) fail();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  void expect(char c) {
    if (rest_.empty() || rest_.front() != c) fail();
    rest_.remove_prefix(1);
  }
  [[noreturn]] static void fail() { throw BadArgument("expected a key of axes"); }

 private:
  std::string_view rest_;
};

template <typename Number>
Number number_from(const std::string& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) KeyReader::fail();
  return value;
}

AxisValue value_from(std::size_t type, const std::string& text) {
  switch (type) {
    case 0:
      return number_from<std::int64_t>(text);
    case 1:
      return number_from<double>(text);
    case 2:
      return text == "true";
    case 3:
      return text;
    default:
      KeyReader::fail();
  }
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

Axes Axes::from_key(std::string_view key) {
  Axes axes;
  for (KeyReader reader(key); !reader.at_end();) {
    const std::string name = reader.text();
    reader.expect('=');
    const std::size_t type = reader.number();
    reader.expect(':');
    axes.set(name, value_from(type, reader.text()));
    reader.expect(';');
  }
  return axes;
}

}  // namespace duet
