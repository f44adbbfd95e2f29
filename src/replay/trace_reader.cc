#include "replay/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/plain_text.h"
#include "importing/json_fields.h"
#include "replay/gzip.h"
#include "results/record_json.h"

namespace duet {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kForms =
    "expected a trace of PyTorch's profiler, an execution trace of PyTorch (JSON), or lines of "
    "NCCL Inspector";
// What NCCL Inspector writes into each of its lines.
constexpr const char* kInspectorKey = "\"inspector_output_format_version\"";

bool is_binary(std::string_view text) {
  const std::string_view head = text.substr(0, 64);
  return std::any_of(head.begin(), head.end(), [](char c) {
    return c >= 0 && c < ' ' && c != '\n' && c != '\r' && c != '\t';
  });
}

void refuse_binary(std::string_view text) {
  if (!is_binary(text)) return;
  throw UsageError(
      "binary, as Chakra's protobuf traces are: expected PyTorch's execution trace in JSON, from "
      "which Chakra's converter makes them");
}

// The events that the reader looks at, moved out as they are parsed: the rest, which is most of a
// trace, is not kept.
RecordedTrace read_events(std::string_view text) {
  const int event_depth = text.front() == '[' ? 1 : 2;
  Json events = Json::array();
  const auto take = [&](int depth, Json::parse_event_t what, Json& parsed) {
    if (what != Json::parse_event_t::object_end || depth != event_depth) return true;
    if (is_replay_event(parsed)) events.push_back(std::move(parsed));
    return false;
  };
  const Json rest = Json::parse(text.begin(), text.end(), take, /*allow_exceptions=*/false);
  if (rest.is_discarded()) throw UsageError(fmt::format("not whole JSON: {}", kForms));
  if (!rest.is_array() && !value_at(rest, "traceEvents").is_array())
    throw UsageError(fmt::format("\"traceEvents\" is no list: {}", kForms));
  return read_profiler_trace(events);
}

RecordedTrace read_json(std::string_view text) {
  if (nests_too_deep(text))
    throw UsageError(fmt::format("nested deeper than {} levels: {}", kDeepestNesting, kForms));
  if (text.front() == '[' || text.find("\"traceEvents\"") != std::string_view::npos)
    return read_events(text);
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw UsageError(fmt::format("not whole JSON: {}", kForms));
  if (json.contains("nodes")) return read_execution_trace(json);
  throw UsageError(fmt::format("JSON of no tool that is known: {}", kForms));
}

RecordedTrace read_any(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) throw UsageError(fmt::format("empty: {}", kForms));
  refuse_binary(text);
  const std::string_view json = text.substr(begin);
  if (json.front() != '{' && json.front() != '[')
    throw UsageError(fmt::format("of no tool that is known: {}", kForms));
  if (json.substr(0, json.find('\n')).find(kInspectorKey) != std::string_view::npos)
    return read_inspector(json);
  return read_json(json);
}

}  // namespace

RecordedTrace read_trace(const std::string& name, std::string_view text) {
  try {
    return is_gzip(text) ? read_any(unpacked_gzip(text)) : read_any(text);
  } catch (const Error& error) {
    throw UsageError(fmt::format("{}: {}", name, one_line(error.what())));
  }
}

}  // namespace duet
