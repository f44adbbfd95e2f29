// How the values of a journal's lines stand as JSON: what a type is called in messages, which JSON
// values are of it, and the conversions in both directions. For record_json.cc.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "results/record_fields.h"
#include "results/record_json.h"

namespace duet::json_forms {

// An unsigned JSON number compared with a signed one is cast and may come out negative: this is
// unsigned.
template <typename T>
constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());

inline bool all(const Json& json, bool (Json::*is)() const noexcept) {
  return std::all_of(json.begin(), json.end(), [is](const Json& one) { return (one.*is)(); });
}

inline Json type_schema(const char* type) { return {{"type", type}}; }

inline Json list_schema(Json item) { return {{"type", "array"}, {"items", std::move(item)}}; }

inline Json by_name_schema(Json value) {
  return {{"type", "object"}, {"additionalProperties", std::move(value)}};
}

inline Json whole_schema(std::int64_t least, std::int64_t most) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
}

// Form<T> is how a value of type T stands in a line: its name in messages, whether a JSON value is
// one, and both conversions. `path` names the value in messages about its parts. `sparse`: leave
// out what is not known.
template <typename T, typename = void>
struct Form;

// A type that JSON has as well.
template <typename T>
struct Plain {
  static void take(const Json& json, const std::string&, T& value) { value = json.get<T>(); }
  static Json put(const T& value, bool) { return value; }
};

template <>
struct Form<std::string> : Plain<std::string> {
  static constexpr const char* kName = "a text";
  static bool holds(const Json& json) { return json.is_string(); }
  static Json schema() { return type_schema("string"); }
};

template <>
struct Form<bool> : Plain<bool> {
  static constexpr const char* kName = "true or false";
  static bool holds(const Json& json) { return json.is_boolean(); }
  static Json schema() { return type_schema("boolean"); }
};

template <>
struct Form<double> : Plain<double> {
  static constexpr const char* kName = "a number";
  static bool holds(const Json& json) { return json.is_number(); }
  static Json schema() { return type_schema("number"); }
};

template <>
struct Form<int> : Plain<int> {
  static constexpr const char* kName = "a whole number";
  static bool holds(const Json& json) {
    if (json.is_number_unsigned()) return json.get<std::uint64_t>() <= kMost<int>;
    return json.is_number_integer() && json.get<std::int64_t>() >= std::numeric_limits<int>::min();
  }
  static Json schema() {
    return whole_schema(std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  }
};

template <>
struct Form<std::uint64_t> : Plain<std::uint64_t> {
  static constexpr const char* kName = "a whole number, 0 or more";
  static bool holds(const Json& json) {
    return json.is_number_unsigned() && json.get<std::uint64_t>() <= kMost<std::int64_t>;
  }
  static Json schema() { return whole_schema(0, std::numeric_limits<std::int64_t>::max()); }
};

template <>
struct Form<std::vector<std::string>> : Plain<std::vector<std::string>> {
  static constexpr const char* kName = "a list of texts";
  static bool holds(const Json& json) { return json.is_array() && all(json, &Json::is_string); }
  static Json schema() { return list_schema(Form<std::string>::schema()); }
};

template <>
struct Form<std::vector<double>> : Plain<std::vector<double>> {
  static constexpr const char* kName = "a list of numbers";
  static bool holds(const Json& json) { return json.is_array() && all(json, &Json::is_number); }
  static Json schema() { return list_schema(Form<double>::schema()); }
};

// Amount<> and Count<> hold references: what is in them is read and written.
template <typename T>
struct Form<Amount<T>> : Form<std::remove_const_t<T>> {
  using Inner = Form<std::remove_const_t<T>>;
  static constexpr bool kList = !std::is_same_v<std::remove_const_t<T>, double>;
  static constexpr const char* kName =
      kList ? "a list of numbers, 0 or more" : "a number, 0 or more";
  static bool holds(const Json& json) {
    const auto negative = [](const Json& one) { return one.get<double>() < 0; };
    if (!Inner::holds(json)) return false;
    return kList ? std::none_of(json.begin(), json.end(), negative) : !negative(json);
  }
  static void take(const Json& json, const std::string& path, Amount<T> amount) {
    Inner::take(json, path, amount.value);
  }
  static Json put(Amount<T> amount, bool sparse) { return Inner::put(amount.value, sparse); }
  static Json schema() {
    Json schema = Inner::schema();
    (kList ? schema["items"] : schema)["minimum"] = 0;
    return schema;
  }
};

template <typename T>
struct Form<Count<T>> {
  static constexpr const char* kName = "a whole number, 1 or more";
  static bool holds(const Json& json) { return Form<int>::holds(json) && json >= 1; }
  static void take(const Json& json, const std::string&, Count<T> count) {
    count.value = json.get<std::size_t>();
  }
  static Json put(Count<T> count, bool) { return count.value; }
  static Json schema() { return whole_schema(1, std::numeric_limits<int>::max()); }
};

template <>
struct Form<WorkSpan> {
  static constexpr const char* kName = "two rising numbers";
  static bool holds(const Json& json) {
    return Form<std::vector<double>>::holds(json) && json.size() == 2 && json[0] <= json[1];
  }
  static void take(const Json& json, const std::string&, WorkSpan& span) {
    span = {json[0].get<double>(), json[1].get<double>()};
  }
  static Json put(const WorkSpan& span, bool) { return Json::array({span.begin, span.end}); }
  static Json schema() {
    Json schema = Form<std::vector<double>>::schema();
    schema["minItems"] = 2;
    schema["maxItems"] = 2;
    return schema;
  }
};

inline constexpr Outcome kAllOutcomes[] = {Outcome::measured, Outcome::derived, Outcome::skipped,
                                           Outcome::wrong, Outcome::failed};

template <>
struct Form<Outcome> {
  static constexpr const char* kName = "a text";
  static bool holds(const Json& json) { return json.is_string(); }
  static void take(const Json& json, const std::string&, Outcome& outcome) {
    const auto text = json.get<std::string>();
    const auto known = std::find_if(std::begin(kAllOutcomes), std::end(kAllOutcomes),
                                    [&](Outcome one) { return text == name(one); });
    if (known == std::end(kAllOutcomes)) {
      throw Error("\"outcome\" is \"" + text + "\", which this version does not know");
    }
    outcome = *known;
  }
  static Json put(Outcome outcome, bool) { return name(outcome); }
  static Json schema() {
    Json names = Json::array();
    for (const Outcome outcome : kAllOutcomes) names.push_back(name(outcome));
    return {{"enum", std::move(names)}};
  }
};

inline AxisValue axis_from_json(const std::string& axis, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost<std::int64_t>) {
    throw Error("axis \"" + axis + "\" is above 2^63 - 1");
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (Form<std::vector<std::string>>::holds(value)) return value.get<std::vector<std::string>>();
  throw Error("axis \"" + axis + "\" is neither a number, a word nor a list of words");
}

template <>
struct Form<Axes> {
  static constexpr const char* kName = "an object";
  static bool holds(const Json& json) { return json.is_object(); }
  static void take(const Json& json, const std::string&, Axes& axes) {
    for (const auto& [axis, value] : json.items()) axes.set(axis, axis_from_json(axis, value));
  }
  static Json put(const Axes& axes, bool) {
    Json json = Json::object();
    for (const auto& [axis, value] : axes) {
      std::visit([&, &key = axis](const auto& v) { json[key] = v; }, value);
    }
    return json;
  }
  static Json schema() {
    Json kinds = Json::array({type_schema("boolean"), type_schema("number"), type_schema("string"),
                              Form<std::vector<std::string>>::schema()});
    return by_name_schema({{"anyOf", std::move(kinds)}});
  }
};

template <typename T>
Json read_schema() {
  return Form<std::remove_cv_t<std::remove_reference_t<T>>>::schema();
}

template <typename T>
void read(const Json& json, const std::string& path, T&& value) {
  using F = Form<std::remove_cv_t<std::remove_reference_t<T>>>;
  if (!F::holds(json)) throw Error(fmt::format("\"{}\": expected {}", path, F::kName));
  F::take(json, path, value);
}

template <typename T>
Json written(const T& value, bool sparse) {
  return Form<std::remove_cv_t<T>>::put(value, sparse);
}

// Of other tools' output the names of what is not known are left out, with the objects that would
// be empty.
template <typename T>
struct Form<ByName<T>> {
  static constexpr const char* kName =
      std::is_same_v<T, std::string> ? "an object of texts" : "an object";
  static bool holds(const Json& json) {
    if (!json.is_object()) return false;
    return !std::is_same_v<T, std::string> || all(json, &Json::is_string);
  }
  static void take(const Json& json, const std::string& path, ByName<T>& values) {
    for (const auto& [name, one] : json.items()) {
      T value{};
      read(one, path + "." + name, value);
      values.set(name, std::move(value));
    }
  }
  static Json put(const ByName<T>& values, bool sparse) {
    Json json = Json::object();
    for (const auto& [name, value] : values) json[name] = written(value, sparse);
    return json;
  }
  static Json schema() { return by_name_schema(Form<T>::schema()); }
};

template <>
struct Form<std::map<std::string, std::string>> : Plain<std::map<std::string, std::string>> {
  static constexpr const char* kName = Form<ByName<std::string>>::kName;
  static bool holds(const Json& json) { return Form<ByName<std::string>>::holds(json); }
  static Json put(const std::map<std::string, std::string>& values, bool) {
    Json json = Json::object();
    for (const auto& [name, value] : values) json[name] = value;
    return json;
  }
  static Json schema() { return Form<ByName<std::string>>::schema(); }
};

}  // namespace duet::json_forms
