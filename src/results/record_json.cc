#include "results/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "results/json_forms.h"
#include "results/record_kind.h"

namespace duet {

namespace json_forms {

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
    for (const std::string& name : json_forms::quantities()) {
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
    for (const std::string& name : json_forms::quantities()) {
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

}  // namespace json_forms

Json to_json(const Record& record) { return json_forms::line("result", record); }
// Without what is not known, if another program wrote it.
Json to_json(const Environment& environment) {
  const bool of_others = environment.run && environment.run->duet.empty();
  return json_forms::line("environment", environment, of_others || !environment.imported.empty());
}
Json to_json(const RunEnd& end) { return json_forms::line("end", end); }
Json to_json(const MachineFacts& machine) { return json_forms::written(machine, false); }
Json to_json(const HostFacts& host) { return json_forms::written(host, false); }

JournalLine journal_line_from(const Json& json) {
  if (!json.is_object() || !json.contains("type") || !json.contains("schema")) {
    throw Error("not a record: expected an object with \"type\" and \"schema\"");
  }
  if (json["schema"] != kJournalSchema) {
    throw Error(fmt::format("the record has schema {}, this version of duet reads schema {}",
                            json["schema"].dump(), kJournalSchema));
  }
  if (json["type"] == "result") return json_forms::record_from(json);
  if (json["type"] == "environment") return json_forms::environment_from(json);
  if (json["type"] == "end") return json_forms::end_from(json);
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
    schema["allOf"].push_back(
        json_forms::where("type", type, {{"$ref", std::string("#/$defs/") + type}}));
  }
  schema["$defs"] = {{"environment", json_forms::Form<Environment>::schema()},
                     {"result", json_forms::result_schema()},
                     {"end", json_forms::Form<RunEnd>::schema()}};
  return schema;
}

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (!in_text && (c == '{' || c == '[')) {
      if (++depth > kDeepestNesting) return true;
    } else if (!in_text && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return false;
}

}  // namespace duet
