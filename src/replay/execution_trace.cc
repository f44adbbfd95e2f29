// Nodes are numbered in the order in which they began, and written when they ended. Older traces
// have "input_shapes" and "input_types" of a node, newer ones "inputs" with "shapes", "types" and
// "strides"; what its collective is stands in its attributes, or among its inputs.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/error.h"
#include "importing/json_fields.h"
#include "replay/json_lists.h"
#include "replay/operators.h"
#include "replay/trace_reader.h"

namespace duet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepestNode = 1000;  // of nodes within nodes; more is a circle

// "shapes" of a node's inputs or outputs ("input", "output").
const Json& field_of(const Json& node, const std::string& side, const char* what) {
  const Json& grouped = value_at(node, (side + "s").c_str());
  if (grouped.is_object()) return value_at(grouped, what);
  return value_at(node, (side + "_" + what).c_str());
}
const Json& input_values(const Json& node) {
  const Json& grouped = value_at(node, "inputs");
  return grouped.is_object() ? value_at(grouped, "values") : grouped;
}

const Json& attribute(const Json& node, const char* name) {
  static const Json kMissing;
  for (const Json& each : value_at(node, "attrs")) {
    if (text_at(each, "name") == name) return value_at(each, "value");
  }
  return kMissing;
}

// Of a shape, or of all shapes in a list of them.
std::uint64_t elements_of(const Json& shapes) {
  if (!shapes.is_array() || shapes.empty()) return 0;
  if (shapes.front().is_array()) {
    std::uint64_t all = 0;
    for (const Json& each : shapes) all += elements_of(each);
    return all;
  }
  std::uint64_t elements = 1;
  for (const Json& side : shapes) {
    elements *= side.is_number_unsigned()
                    ? std::min<std::uint64_t>(side.get<std::uint64_t>(), std::uint64_t{1} << 30)
                    : 0;
  }
  return elements;
}

std::uint64_t number_or_0(const Json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

// The name that stands among the inputs of a node without attributes.
std::string name_among_inputs(const Json& node) {
  for (const Json& each : input_values(node)) {
    if (!each.is_string()) continue;
    const std::string text = each.get<std::string>();
    if (is_collective_name(text) || text == "wait") return text;
  }
  return "";
}

// The first of two numbers in a list is a call's number in its group, and of two texts the first
// the group's name.
void take_tuples(const Json& node, NamedCollective& called) {
  for (const Json& each : input_values(node)) {
    if (!each.is_array() || each.size() != 2) continue;
    if (each[0].is_number_unsigned() && each[1].is_boolean()) called.number = each[0];
    if (each[0].is_string() && each[1].is_string()) called.group = each[0];
  }
}

NamedCollective collective_node(const Json& node) {
  const Json& name = attribute(node, "collective_name");
  NamedCollective called{name.is_string() ? name.get<std::string>() : "", ""};
  const Json& type = attribute(node, "dtype");
  const std::vector<std::string> types = text_list(field_of(node, "input", "types"));
  called.type = type.is_string() ? type.get<std::string>() : types.empty() ? "" : types.front();
  called.sent = number_or_0(attribute(node, "in_msg_nelems"));
  called.received = number_or_0(attribute(node, "out_msg_nelems"));
  const std::uint64_t ranks = number_or_0(attribute(node, "pg_size"));
  called.ranks = static_cast<int>(std::min<std::uint64_t>(ranks, std::uint64_t{1} << 30));
  const Json& group = attribute(node, "pg_name");
  take_tuples(node, called);
  if (group.is_string()) called.group = group.get<std::string>();
  if (called.name.empty()) called.name = name_among_inputs(node);
  if (called.sent == 0 && called.received == 0) {
    const Json& in = field_of(node, "input", "shapes");
    const Json& out = field_of(node, "output", "shapes");
    called.sent = in.is_array() && !in.empty() ? elements_of(in.front()) : 0;
    called.received = out.is_array() && !out.empty() ? elements_of(out.front()) : 0;
  }
  return called;
}

NamedCollective annotation_node(const Json& node) {
  const std::vector<std::string> types = text_list(field_of(node, "input", "types"));
  NamedCollective called{annotated_name(text_at(node, "name")), types.empty() ? "" : types.front()};
  called.sent = elements_of(field_of(node, "input", "shapes"));
  return called;
}

class ExecutionReader {
 public:
  explicit ExecutionReader(const Json& trace) {
    for (const Json& node : value_at(trace, "nodes")) {
      if (const auto id = count_at(node, "id")) nodes_[*id] = &node;
    }
  }

  RecordedTrace trace() {
    trace_.form = "PyTorch execution trace";
    trace_.remarks = {"the trace has no times"};
    find_callers();
    const bool described = std::any_of(nodes_.begin(), nodes_.end(), [](const auto& each) {
      return text_at(*each.second, "name") == kCommsOperator;
    });
    std::int64_t step = -1;
    for (const auto& [id, node] : nodes_) {
      const std::string name = text_at(*node, "name");
      if (begins_with(name, kStepMark)) {
        begin_step(name, step);
      } else if (is_gemm_operator(name)) {
        if (callers_.count(id) == 0) add_gemm(*node, name, step);
      } else if (name == kCommsOperator) {
        add_collective(collective_node(*node), step);
      } else if (!described && is_collective_annotation(name)) {
        add_collective(annotation_node(*node), step);
      }
    }
    return std::move(trace_);
  }

 private:
  std::int64_t parent_of(const Json& node) const {
    const auto old = count_at(node, "parent");
    return old ? *old : count_at(node, "ctrl_deps").value_or(0);
  }

  // The operators that multiply by calling another one.
  void find_callers() {
    for (const auto& [id, node] : nodes_) {
      if (!is_gemm_operator(text_at(*node, "name"))) continue;
      std::int64_t at = parent_of(*node);
      for (int depth = 0; depth < kDeepestNode; ++depth) {
        const auto parent = nodes_.find(at);
        if (parent == nodes_.end() || !callers_.insert(at).second) break;
        at = parent_of(*parent->second);
      }
    }
  }

  void begin_step(const std::string& name, std::int64_t& step) {
    const auto number = count_of(name.substr(kStepMark.size()));
    if (!number || *number == step) return;
    step = *number;
    trace_.steps.push_back({step, 0});
  }

  void add_gemm(const Json& node, const std::string& name, std::int64_t step) {
    const OperatorInputs inputs = {number_lists(field_of(node, "input", "shapes")),
                                   number_lists(field_of(node, "input", "strides")),
                                   text_list(field_of(node, "input", "types"))};
    std::visit(
        [&](auto&& what) {
          trace_.calls.push_back({what, 0, 0, 0, step});
        },
        gemm_of(name, inputs));
  }

  void add_collective(const NamedCollective& called, std::int64_t step) {
    if (called.name == "init") return;  // opening a group is no call of a step
    trace_.calls.push_back({collective_of(called), 0, 0, 0, step});
  }

  std::map<std::int64_t, const Json*> nodes_;  // by number
  std::set<std::int64_t> callers_;
  RecordedTrace trace_;
};

}  // namespace

RecordedTrace read_execution_trace(const Json& trace) {
  if (!value_at(trace, "nodes").is_array())
    throw UsageError("\"nodes\" of an execution trace: expected a list");
  return ExecutionReader(trace).trace();
}

}  // namespace duet
