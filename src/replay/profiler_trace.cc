// Operators of the CPU tell the order, shapes and sizes; kernels with the same "External id" tell
// how long they took. Collectives are operators record_param_comms; where a trace has none of them
// with sizes, kernels that say what they are, else annotations such as "nccl:all_reduce".
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "importing/json_fields.h"
#include "replay/json_lists.h"
#include "replay/operators.h"
#include "replay/trace_reader.h"
#include "replay/waits.h"

namespace duet {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCollectiveName = "Collective name";
constexpr double kSecondsOfTick = 1e-6;

bool is_kernel(const Json& event) { return text_at(event, "cat") == "kernel"; }
const Json& args_of(const Json& event) { return value_at(event, "args"); }
double begin_of(const Json& event) { return amount_at(event, "ts").value_or(0); }
double length_of(const Json& event) { return amount_at(event, "dur").value_or(0); }
double end_of(const Json& event) { return begin_of(event) + length_of(event); }

// By process and thread.
std::string lane_of(const Json& event) {
  return value_at(event, "pid").dump() + " " + value_at(event, "tid").dump();
}

// "" if there is none.
std::string external_id(const Json& event) {
  for (const char* key : {"External id", "external id"}) {
    const Json& id = value_at(args_of(event), key);
    if (id.is_number()) return id.dump();
    if (id.is_string()) return id.get<std::string>();
  }
  return "";
}

OperatorInputs inputs_of(const Json& event) {
  const Json& args = args_of(event);
  return {number_lists(value_at(args, "Input Dims")), number_lists(value_at(args, "Input Strides")),
          text_list(value_at(args, "Input type"))};
}

std::uint64_t elements_at(const Json& args, const char* key) {
  return static_cast<std::uint64_t>(count_at(args, key).value_or(0));
}

NamedCollective described_collective(const Json& args) {
  NamedCollective called{text_at(args, kCollectiveName), text_at(args, "dtype")};
  called.sent = elements_at(args, "In msg nelems");
  called.received = elements_at(args, "Out msg nelems");
  called.ranks = static_cast<int>(
      std::min<std::int64_t>(count_at(args, "Group size").value_or(0), std::int64_t{1} << 30));
  called.group = text_at(args, "Process Group Name");
  called.number = count_at(args, "Seq");
  const Json& asynchronous = value_at(args, "Is asynchronized op");
  called.blocking = asynchronous.is_boolean() && !asynchronous.get<bool>();
  return called;
}

// "nccl:all_reduce" with the shapes of its tensors.
NamedCollective annotated_collective(const Json& event) {
  NamedCollective called{annotated_name(text_at(event, "name")), ""};
  const OperatorInputs inputs = inputs_of(event);
  for (const std::string& type : inputs.types) {
    if (called.type.empty()) called.type = type;
  }
  for (const auto& shape : inputs.shapes) {
    std::uint64_t elements = shape.empty() ? 0 : 1;
    for (const std::int64_t side : shape)
      elements *= static_cast<std::uint64_t>(std::clamp<std::int64_t>(side, 0, 1 << 30));
    called.sent += elements;
  }
  return called;
}

class ProfilerReader {
 public:
  explicit ProfilerReader(const Json& events) {
    for (const Json& event : events) {
      if (is_replay_event(event)) sort_in(event);
    }
  }

  RecordedTrace trace() {
    trace_.form = "PyTorch profiler";
    find_steps();
    for (const auto& [id, kernels] : kernels_) last_ = std::max(last_, ends_[id]);
    add_gemms();
    add_collectives();
    add_other_kernels();
    std::stable_sort(timed_.begin(), timed_.end(),
                     [](const Timed& a, const Timed& b) { return a.begin < b.begin; });
    for (Timed& each : timed_) trace_.calls.push_back(std::move(each.call));
    drop_waits_of_other_streams(trace_);
    if (!timed_.empty()) trace_.seconds = (last_ - timed_.front().begin) * kSecondsOfTick;
    return std::move(trace_);
  }

 private:
  struct Timed {
    double begin = 0;
    RecordedCall call;
  };

  void sort_in(const Json& event) {
    const std::string name = text_at(event, "name");
    if (is_kernel(event)) {
      const std::string id = external_id(event);
      kernels_[id].push_back(&event);
      ends_[id] = std::max(ends_[id], end_of(event));
    } else if (is_gemm_operator(name)) {
      operators_.push_back(&event);
    } else if (name == kCommsOperator) {
      comms_.push_back(&event);
    } else if (is_collective_annotation(name)) {
      annotations_.push_back(&event);
    } else {
      marks_.push_back(&event);
    }
  }

  void find_steps() {
    for (const Json* mark : marks_) {
      const auto number = count_of(text_at(*mark, "name").substr(kStepMark.size()));
      if (!number) continue;
      trace_.steps.push_back({*number, length_of(*mark) * kSecondsOfTick});
      windows_.push_back({*number, begin_of(*mark), end_of(*mark)});
    }
  }

  std::int64_t step_at(double time) const {
    for (const Window& each : windows_) {
      if (time >= each.begin && time < each.end) return each.number;
    }
    return -1;
  }

  void add(const Json& event, decltype(RecordedCall::what) what, double seconds = 0) {
    Timed timed{begin_of(event), {std::move(what), seconds, 0, 0, step_at(begin_of(event))}};
    if (is_kernel(event)) {
      timed.call.begin = begin_of(event) * kSecondsOfTick;
      timed.call.end = end_of(event) * kSecondsOfTick;
    } else {
      add_kernels(external_id(event), timed.call);
    }
    last_ = std::max(last_, end_of(event));
    timed_.push_back(std::move(timed));
  }

  void add_kernels(const std::string& id, RecordedCall& call) {
    const auto own = kernels_.find(id);
    if (id.empty() || own == kernels_.end()) return;
    for (const Json* kernel : own->second) {
      const double begin = begin_of(*kernel) * kSecondsOfTick;
      call.seconds += length_of(*kernel) * kSecondsOfTick;
      call.begin = call.end > 0 ? std::min(call.begin, begin) : begin;
      call.end = std::max(call.end, end_of(*kernel) * kSecondsOfTick);
    }
    replayed_.insert(id);
  }

  // Of one thread an operator that begins within another one is called by it.
  void add_gemms() {
    std::map<std::string, std::vector<const Json*>> lanes;
    for (const Json* each : operators_) lanes[lane_of(*each)].push_back(each);
    for (auto& [name, lane] : lanes) {
      std::stable_sort(lane.begin(), lane.end(), [](const Json* a, const Json* b) {
        const double begin = begin_of(*a), other = begin_of(*b);
        return begin != other ? begin < other : end_of(*a) > end_of(*b);
      });
      for (std::size_t i = 0; i < lane.size(); ++i) {
        if (i + 1 < lane.size() && begin_of(*lane[i + 1]) < end_of(*lane[i])) continue;
        std::visit([&](auto&& what) { add(*lane[i], std::forward<decltype(what)>(what)); },
                   gemm_of(text_at(*lane[i], "name"), inputs_of(*lane[i])));
      }
    }
  }

  void add_collectives() {
    const auto describes = [](const Json* event) {
      return !text_at(args_of(*event), kCollectiveName).empty();
    };
    std::vector<const Json*> own;
    std::copy_if(comms_.begin(), comms_.end(), std::back_inserter(own), describes);
    if (own.empty()) {
      for (const auto& [id, kernels] : kernels_)
        std::copy_if(kernels.begin(), kernels.end(), std::back_inserter(own), describes);
    }
    for (const Json* each : own) {
      const double seconds = is_kernel(*each) ? length_of(*each) * kSecondsOfTick : 0;
      if (is_kernel(*each)) described_kernels_.insert(each);
      if (opens_group(*each)) continue;
      add(*each, collective_of(described_collective(args_of(*each))), seconds);
    }
    if (!own.empty() || annotations_.empty()) return;
    trace_.remarks.push_back("the trace does not tell the sizes of groups");
    for (const Json* each : annotations_) add(*each, collective_of(annotated_collective(*each)));
  }

  // Opening a group is no call of a step.
  static bool opens_group(const Json& event) {
    return text_at(args_of(event), kCollectiveName) == "init";
  }

  void add_other_kernels() {
    for (const auto& [id, kernels] : kernels_) {
      if (!id.empty() && replayed_.count(id) > 0) continue;
      for (const Json* kernel : kernels) {
        if (described_kernels_.count(kernel) > 0) continue;
        add(*kernel, RecordedRest{"kernels of other operators"},
            length_of(*kernel) * kSecondsOfTick);
      }
    }
  }

  struct Window {
    std::int64_t number;
    double begin, end;
  };

  std::vector<const Json*> operators_, comms_, annotations_, marks_;
  std::map<std::string, std::vector<const Json*>> kernels_;  // by external id
  std::map<std::string, double> ends_;                       // of their last one
  std::set<std::string> replayed_;                           // external ids of calls
  std::set<const Json*> described_kernels_;                  // that are calls themselves
  std::vector<Window> windows_;
  std::vector<Timed> timed_;
  double last_ = 0;
  RecordedTrace trace_;
};

}  // namespace

bool is_replay_event(const Json& event) {
  if (text_at(event, "ph") != "X" || text_at(event, "cat") == "gpu_user_annotation") return false;
  if (is_kernel(event)) return true;
  const std::string name = text_at(event, "name");
  return name == kCommsOperator || is_gemm_operator(name) || is_collective_annotation(name) ||
         begins_with(name, kStepMark);
}

RecordedTrace read_profiler_trace(const Json& events) { return ProfilerReader(events).trace(); }

}  // namespace duet
