// The readers of traces, one file each. A reader takes any bytes, leaves out what a trace does not
// tell, and throws UsageError without the file's name where the text is no such trace.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "replay/recorded.h"

namespace duet {

// The calls of a trace, whose form follows from its contents. `name` is the file's name. Throws
// UsageError, on one line that begins with the name, and no other error on any bytes.
RecordedTrace read_trace(const std::string& name, std::string_view text);

// The trace of PyTorch's profiler (Kineto), in Chrome's format: an object with "traceEvents", or
// their list alone, as older PyTorch writes it.
RecordedTrace read_profiler_trace(const nlohmann::ordered_json& events);
// What the reader looks at; of all other events nothing needs to be kept.
bool is_replay_event(const nlohmann::ordered_json& event);

// PyTorch's execution trace, which Chakra and PARAM take as well.
RecordedTrace read_execution_trace(const nlohmann::ordered_json& trace);

// The lines of NCCL's profiler plugin Inspector.
RecordedTrace read_inspector(std::string_view text);

}  // namespace duet
