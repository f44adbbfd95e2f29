// Names of enumerators. Each enumeration has one table of its values and their names:
//
//     constexpr NamedValue<Issue> kIssues[] = {{Issue::push, "push"}, {Issue::pull, "pull"}};
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace duet {

// " (did you mean 'copy'?)", with the known word nearest to `text`; "" if none is near. A word is
// near if it takes at most as many edits as a third of `text` has letters, or one. An edit changes,
// adds or leaves out a letter, or swaps it with its neighbour.
std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& known);

// The same for any range of texts.
template <typename Words>
std::string did_you_mean(std::string_view text, const Words& known) {
  return did_you_mean(text, std::vector<std::string_view>(known.begin(), known.end()));
}

// "unknown GEMM engine 'cublss' (did you mean 'cublas'?): cuda has cublas, cublaslt".
std::string unknown_engine_text(const std::string& workload, const std::string& asked,
                                const std::string& machine, const std::vector<std::string>& known);

template <typename Value>
struct NamedValue {
  Value value;
  const char* name;
};

// Throws UsageError "WHAT 'text' (did you mean ...?): expected one of KNOWN".
[[noreturn]] void throw_unknown_name(const std::string& what, std::string_view text,
                                     const std::vector<std::string_view>& known);

// The name of `value`; "?" if the table lacks it.
template <typename Value, std::size_t n>
constexpr const char* name_of(const NamedValue<Value> (&table)[n], Value value) {
  for (const NamedValue<Value>& each : table) {
    if (each.value == value) return each.name;
  }
  return "?";
}

// All names, in the table's order.
template <typename Value, std::size_t n>
std::vector<std::string_view> names_in(const NamedValue<Value> (&table)[n]) {
  std::vector<std::string_view> names;
  for (const NamedValue<Value>& each : table) names.push_back(each.name);
  return names;
}

template <typename Value, std::size_t n>
std::vector<Value> values_in(const NamedValue<Value> (&table)[n]) {
  std::vector<Value> values;
  for (const NamedValue<Value>& each : table) values.push_back(each.value);
  return values;
}

// The value named `text`. Throws UsageError, which begins with `what` ("unknown issue") and lists
// the valid names.
template <typename Value, std::size_t n>
Value parse_name(const NamedValue<Value> (&table)[n], const std::string& what,
                 std::string_view text) {
  for (const NamedValue<Value>& each : table) {
    if (each.name == text) return each.value;
  }
  throw_unknown_name(what, text, names_in(table));
}

}  // namespace duet
