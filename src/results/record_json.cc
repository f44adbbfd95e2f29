#include "results/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "results/record_fields.h"
#include "results/record_kind.h"

namespace duet {
namespace {

// An unsigned JSON number compared with a signed one is cast and may come out negative: this is
// unsigned.
template <typename T>
constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());

template <typename T>
std::vector<T> list_of(const Json& json) {
  return json.get<std::vector<T>>();
}

bool all(const Json& json, bool (Json::*is)() const noexcept) {
  return std::all_of(json.begin(), json.end(), [is](const Json& one) { return (one.*is)(); });
}

Json type_schema(const char* type) { return {{"type", type}}; }

Json list_schema(Json item) { return {{"type", "array"}, {"items", std::move(item)}}; }

Json by_name_schema(Json value) {
  return {{"type", "object"}, {"additionalProperties", std::move(value)}};
}

Json whole_schema(std::int64_t least, std::int64_t most) {
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
    const auto negative = [](const Json& one) { return one < 0; };
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
struct Form<PairSpan> {
  static constexpr const char* kName = "two rising numbers";
  static bool holds(const Json& json) {
    return Form<std::vector<double>>::holds(json) && json.size() == 2 && json[0] <= json[1];
  }
  static void take(const Json& json, const std::string&, PairSpan& span) {
    span = {json[0].get<double>(), json[1].get<double>()};
  }
  static Json put(const PairSpan& span, bool) { return Json::array({span.begin, span.end}); }
  static Json schema() {
    Json schema = Form<std::vector<double>>::schema();
    schema["minItems"] = 2;
    schema["maxItems"] = 2;
    return schema;
  }
};

constexpr Outcome kAllOutcomes[] = {Outcome::measured, Outcome::derived, Outcome::skipped,
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

AxisValue axis_from_json(const std::string& axis, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost<std::int64_t>) {
    throw Error("axis \"" + axis + "\" is above 2^63 - 1");
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (Form<std::vector<std::string>>::holds(value)) return list_of<std::string>(value);
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

// All names of Cost::more, each once.
const std::vector<std::string>& quantities() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const RecordKind& kind : record_kinds()) {
      for (const std::string& name : kind.quantities) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    return names;
  }();
  return all;
}

class Reader {
 public:
  template <typename T>
  using Of = T;

  Reader(const Json& object, std::string at) : object_(object), at_(std::move(at)) {}

  template <typename T>
  void required(const char* key, T&& value) {
    if (!object_.contains(key)) {
      throw Error(fmt::format("\"{}{}\" is missing: expected {}", at_, key,
                              Form<std::remove_cv_t<std::remove_reference_t<T>>>::kName));
    }
    read(object_[key], at_ + key, value);
  }
  template <typename T>
  void optional(const char* key, T&& value, bool) {
    if (object_.contains(key)) read(object_[key], at_ + key, value);
  }
  template <typename T>
  void optional(const char* key, std::optional<T>& value) {
    if (object_.contains(key)) read(object_[key], at_ + key, value.emplace());
  }
  void optional(const char* key, Amount<std::optional<double>> amount) {
    if (object_.contains(key)) read(object_[key], at_ + key, Amount{amount.value.emplace()});
  }
  template <typename T>
  void usual(const char* key, T&& value) {
    optional(key, value, true);
  }
  void usual(const char* key, int& value, int) { optional(key, value, true); }
  void quantities(ByName<double>& values) {
    for (const std::string& name : duet::quantities()) {
      double value = 0;
      if (!object_.contains(name)) continue;
      required(name.c_str(), Amount{value});
      values.set(name, value);
    }
  }
  void reason(const char* key, std::string& value, bool) {
    if (!object_.contains(key)) return;
    if (!object_[key].is_object()) throw Error(fmt::format("\"{}\": expected an object", key));
    Reader(object_[key], std::string(key) + ".").required("reason", value);
  }

 private:
  const Json& object_;
  std::string at_;  // the object's path in messages: "seconds.", or "" for the line itself
};

class Maker {
 public:
  template <typename T>
  using Of = const T;

  // `sparse`: leaves out what is not known.
  Maker(Json& object, bool sparse) : object_(object), sparse_(sparse) {}

  template <typename T>
  void required(const char* key, const T& value) {
    object_[key] = written(value, sparse_);
  }
  template <typename T>
  void optional(const char* key, const T& value, bool write) {
    if (write) required(key, value);
  }
  template <typename T>
  void optional(const char* key, const std::optional<T>& value) {
    if (value) required(key, *value);
  }
  void optional(const char* key, Amount<const std::optional<double>> amount) {
    optional(key, amount.value);
  }
  template <typename T>
  void usual(const char* key, const T& value, const T& unknown = {}) {
    Json json = written(value, sparse_);
    const bool known = json.is_structured() ? !json.empty() : json != written(unknown, sparse_);
    if (!sparse_ || known) object_[key] = std::move(json);
  }
  template <typename T>
  void usual(const char* key, Amount<T> value) {
    if (!sparse_ || value.value > 0) required(key, value);
  }
  void quantities(const ByName<double>& values) {
    for (const auto& [name, value] : values) required(name.c_str(), value);
  }
  void reason(const char* key, const std::string& value, bool write) {
    if (write) object_[key] = {{"reason", value}};
  }

 private:
  Json& object_;
  bool sparse_;
};

class Schema {
 public:
  template <typename T>
  using Of = T;

  explicit Schema(Json& schema) : schema_(schema) {}

  template <typename T>
  void required(const char* key, T&& value) {
    optional(key, value, true);
    schema_["required"].push_back(key);
  }
  template <typename T>
  void optional(const char* key, T&&, bool) {
    schema_["properties"][key] = read_schema<T>();
  }
  template <typename T>
  void optional(const char* key, std::optional<T>&) {
    schema_["properties"][key] = read_schema<T>();
  }
  void optional(const char* key, Amount<std::optional<double>>) {
    schema_["properties"][key] = read_schema<Amount<double>>();
  }
  template <typename T>
  void usual(const char* key, T&& value) {
    optional(key, value, true);
  }
  void usual(const char* key, int& value, int) { optional(key, value, true); }
  void quantities(ByName<double>&) {
    for (const std::string& name : duet::quantities()) {
      schema_["properties"][name] = read_schema<Amount<double>>();
    }
  }
  void reason(const char* key, std::string& value, bool) {
    Json& reason = schema_["properties"][key] = type_schema("object");
    Schema(reason).required("reason", value);
  }

 private:
  Json& schema_;
};

void check_times(const Seconds& seconds) {
  if (seconds.ci_low > seconds.ci_high) {
    throw Error("\"seconds.ci_low\" is above \"seconds.ci_high\"");
  }
}
template <typename T>
void check_times(const T&) {}

// What has a describe().
template <typename T>
struct Form<T, std::void_t<decltype(describe(std::declval<Reader&>(), std::declval<T&>()))>> {
  static constexpr const char* kName = "an object";
  static bool holds(const Json& json) { return json.is_object(); }
  static void take(const Json& json, const std::string& path, T& value) {
    Reader reader(json, path.empty() ? "" : path + ".");
    describe(reader, value);
    check_times(value);
  }
  static Json put(const T& value, bool sparse) {
    Json json = Json::object();
    Maker maker(json, sparse);
    describe(maker, value);
    return json;
  }
  static Json schema() {
    Json json = type_schema("object");
    T value{};
    Schema schema(json);
    describe(schema, value);
    return json;
  }
};

template <typename T>
struct Form<std::vector<T>> {
  static constexpr const char* kName = "a list";
  static bool holds(const Json& json) { return json.is_array(); }
  static void take(const Json& json, const std::string& path, std::vector<T>& values) {
    for (const Json& one : json) {
      const std::string place = fmt::format("{}[{}]", path, values.size());
      read(one, place, values.emplace_back());
    }
  }
  static Json put(const std::vector<T>& values, bool sparse) {
    Json json = Json::array();
    for (const T& value : values) json.push_back(written(value, sparse));
    return json;
  }
  static Json schema() { return list_schema(Form<T>::schema()); }
};

// The fields that a result with this outcome must have besides.
std::vector<std::string> required_of(Outcome outcome) {
  if (outcome == Outcome::measured) {
    return {"seconds", "cost", "mode", "flushed", "verified", "rates", "notes"};
  }
  if (outcome == Outcome::derived) return {"rates", "notes"};
  return {};
}

Record record_from(const Json& json) {
  Record record;
  Form<Record>::take(json, "", record);
  for (const std::string& field : required_of(record.outcome)) {
    if (json.contains(field)) continue;
    throw Error(fmt::format("\"{}\" is missing: expected it of a result that is {}", field,
                            name(record.outcome)));
  }
  return record;
}

void check_links(const MachineFacts& machine, std::size_t place) {
  const auto devices = static_cast<int>(machine.devices.size());
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    const MachineLink& link = machine.links[i];
    for (const auto& [end, at] : {std::pair{"from", link.from}, std::pair{"to", link.to}}) {
      if (at >= 0 && at < devices) continue;
      throw Error(
          fmt::format("\"machines[{}].links[{}].{}\": expected the place of one of {} devices",
                      place, i, end, devices));
    }
  }
}

Environment environment_from(const Json& json) {
  Environment environment;
  Form<Environment>::take(json, "", environment);
  for (std::size_t i = 0; i < environment.machines.size(); ++i) {
    check_links(environment.machines[i], i);
  }
  return environment;
}

RunEnd end_from(const Json& json) {
  RunEnd end;
  Form<RunEnd>::take(json, "", end);
  return end;
}

template <typename T>
Json line(const char* type, const T& value, bool sparse = false) {
  Json json = {{"type", type}, {"schema", kJournalSchema}};
  json.update(Form<T>::put(value, sparse));
  return json;
}

// Where the field has this value, `then` holds too.
Json where(const char* field, const char* value, Json then) {
  Json condition = {{"required", Json::array({field})}};
  condition["properties"][field] = {{"const", value}};
  return {{"if", std::move(condition)}, {"then", std::move(then)}};
}

Json result_schema() {
  Json schema = Form<Record>::schema();
  schema["allOf"] = Json::array();
  for (const Outcome outcome : kAllOutcomes) {
    const std::vector<std::string> required = required_of(outcome);
    if (required.empty()) continue;
    schema["allOf"].push_back(where("outcome", name(outcome), {{"required", required}}));
  }
  return schema;
}

}  // namespace

Json to_json(const Record& record) { return line("result", record); }
// Without what is not known, if another program wrote it.
Json to_json(const Environment& environment) {
  const bool of_others = environment.run && environment.run->duet.empty();
  return line("environment", environment, of_others || !environment.imported.empty());
}
Json to_json(const RunEnd& end) { return line("end", end); }
Json to_json(const MachineFacts& machine) { return written(machine, false); }
Json to_json(const HostFacts& host) { return written(host, false); }

JournalLine journal_line_from(const Json& json) {
  if (!json.is_object() || !json.contains("type") || !json.contains("schema")) {
    throw Error("not a record: expected an object with \"type\" and \"schema\"");
  }
  if (json["schema"] != kJournalSchema) {
    throw Error(fmt::format("the record has schema {}, this version of duet reads schema {}",
                            json["schema"].dump(), kJournalSchema));
  }
  if (json["type"] == "result") return record_from(json);
  if (json["type"] == "environment") return environment_from(json);
  if (json["type"] == "end") return end_from(json);
  throw Error(fmt::format("unknown type {}: expected \"environment\", \"result\" or \"end\"",
                          json["type"].dump()));
}

Json journal_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "A record, which is a line of a journal of Duet"},
                 {"type", "object"},
                 {"required", Json::array({"type", "schema"})}};
  schema["properties"]["type"] = {{"enum", Json::array({"environment", "result", "end"})}};
  schema["properties"]["schema"] = {{"const", kJournalSchema}};
  schema["allOf"] = Json::array();
  for (const char* type : {"environment", "result", "end"}) {
    schema["allOf"].push_back(where("type", type, {{"$ref", std::string("#/$defs/") + type}}));
  }
  schema["$defs"] = {{"environment", Form<Environment>::schema()},
                     {"result", result_schema()},
                     {"end", Form<RunEnd>::schema()}};
  return schema;
}

}  // namespace duet
