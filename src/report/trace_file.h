// Traces of what records tell of their calls, in the Trace Event Format that Perfetto and
// chrome://tracing read:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
#pragma once

#include <string>
#include <vector>

#include "results/journal.h"

namespace duet {

// The first bytes of every trace that Duet wrote.
extern const char* const kTraceHead;

struct TraceFile {
  std::string text;
  int cases = 0;  // of which the trace has the parts
};

// Each record that tells when its parts ran (RecordKind::trace) is a process of the trace, in the
// order of the journals; all begin at 0. Parts of one lane that overlap are in several threads. Of
// records whose line ("overlap on cuda, dma, ...") has all of `words`.
TraceFile trace_file(const std::vector<JournalContents>& journals,
                     const std::vector<std::string>& words);

}  // namespace duet
