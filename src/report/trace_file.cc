#include "report/trace_file.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "results/record_json.h"
#include "results/record_kind.h"
#include "results/writers/axis_columns.h"

namespace duet {

const char* const kTraceHead = R"({"otherData":{"made_by":"duet trace"})";

namespace {

constexpr double kMicroseconds = 1e6;  // of a second

// The spans of a lane, divided so that none of a list overlap.
std::vector<std::vector<TraceSpan>> side_by_side(std::vector<TraceSpan> spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const TraceSpan& one, const TraceSpan& other) {
    return one.begin < other.begin;
  });
  std::vector<std::vector<TraceSpan>> lists;
  for (TraceSpan& span : spans) {
    const auto free = std::find_if(lists.begin(), lists.end(),
                                   [&](const auto& list) { return list.back().end <= span.begin; });
    auto& list = free == lists.end() ? lists.emplace_back() : *free;
    list.push_back(std::move(span));
  }
  return lists;
}

// The events of one record, which is a process.
class CaseEvents {
 public:
  CaseEvents(int process, Json& events) : process_(process), events_(events) {}

  void name(const std::string& text) {
    add("M", {{"name", "process_name"}, {"args", {{"name", text}}}});
    add("M", {{"name", "process_sort_index"}, {"args", {{"sort_index", process_}}}});
  }
  // The call as a whole, with what the record says of it.
  void add_call(const Record& record, double seconds) {
    Json told = to_json(record);
    for (const char* left_out : {"type", "schema", "samples", "curves", "timeline"})
      told.erase(left_out);
    Json event = event_of({record.id.engine, 0, seconds}, begin_thread("call"));
    event["args"] = std::move(told);
    events_.push_back(std::move(event));
  }
  void add_lane(const TraceLane& lane) {
    for (const std::vector<TraceSpan>& spans : side_by_side(lane.spans)) {
      const int thread = begin_thread(lane.name);
      for (const TraceSpan& span : spans) events_.push_back(event_of(span, thread));
    }
  }
  void add_counter(const TraceCounter& counter) {
    for (const auto& [at, value] : counter.values) {
      add("C",
          {{"name", counter.name}, {"ts", at * kMicroseconds}, {"args", {{counter.name, value}}}});
    }
  }

 private:
  void add(const char* phase, const Json& fields) {
    Json event{{"ph", phase}, {"pid", process_}};
    event.update(fields);
    events_.push_back(std::move(event));
  }
  int begin_thread(const std::string& text) {
    const int thread = ++threads_;
    add("M", {{"tid", thread}, {"name", "thread_name"}, {"args", {{"name", text}}}});
    add("M", {{"tid", thread}, {"name", "thread_sort_index"}, {"args", {{"sort_index", thread}}}});
    return thread;
  }
  Json event_of(const TraceSpan& span, int thread) const {
    return {{"ph", "X"},
            {"pid", process_},
            {"tid", thread},
            {"name", span.name},
            {"ts", span.begin * kMicroseconds},
            {"dur", (span.end - span.begin) * kMicroseconds}};
  }

  int process_;
  Json& events_;
  int threads_ = 0;
};

double end_of(const Trace& trace) {
  double end = 0;
  for (const TraceLane& lane : trace.lanes) {
    for (const TraceSpan& span : lane.spans) end = std::max(end, span.end);
  }
  return end;
}

void add_case(const Record& record, const Trace& trace, int process, Json& events) {
  CaseEvents own(process, events);
  own.name(line_of(record.id));
  own.add_call(record, end_of(trace));
  for (const TraceLane& lane : trace.lanes) own.add_lane(lane);
  for (const TraceCounter& counter : trace.counters) own.add_counter(counter);
}

bool has_anything(const Trace& trace) {
  return std::any_of(trace.lanes.begin(), trace.lanes.end(),
                     [](const TraceLane& lane) { return !lane.spans.empty(); });
}

}  // namespace

TraceFile trace_file(const std::vector<JournalContents>& journals,
                     const std::vector<std::string>& words) {
  TraceFile file;
  Json events = Json::array();
  for (const JournalContents& journal : journals) {
    for (const JournalRun& run : journal.runs) {
      for (const Record& record : run.results) {
        const auto trace_of = record_kind(record.id.benchmark).trace;
        if (trace_of == nullptr || !has_all(line_of(record.id), words)) continue;
        const Trace trace = trace_of(record);
        if (has_anything(trace)) add_case(record, trace, ++file.cases, events);
      }
    }
  }
  file.text =
      std::string(kTraceHead) + R"(,"displayTimeUnit":"ns","traceEvents":)" + events.dump() + "}\n";
  return file;
}

}  // namespace duet
