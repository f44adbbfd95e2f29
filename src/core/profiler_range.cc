#include "core/profiler_range.h"

#include "core/nvtx.h"

namespace duet {
namespace {

bool ranges_are_shown = false;

}  // namespace

bool show_profiler_ranges() { return ranges_are_shown = nvtx::has_tool(); }
bool shows_profiler_ranges() { return ranges_are_shown; }

void ProfilerRange::begin(const std::string& text) { nvtx::push(text); }
void ProfilerRange::end() { nvtx::pop(); }

}  // namespace duet
