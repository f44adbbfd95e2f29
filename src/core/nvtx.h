// NVTX's domain "Duet", in which tools such as nsys show what threads of the process do. Builds
// without CUDA's toolkit, which has NVTX, do nothing.
#pragma once

#include <cstdint>
#include <string>

namespace duet::nvtx {

// Whether a tool takes ranges. The first call loads it.
bool has_tool();

// A name as tools know it: registered once, it costs less than a text. nullptr where there is no
// tool.
using Name = void*;
Name registered(const char* name);

// Names a category, from 1 on; where there is a tool.
void name_category(std::uint32_t category, const char* name);

// Begin a range of the calling thread; where there is a tool. Category 0 is none.
void push(Name name, std::uint64_t payload, std::uint32_t category = 0);
void push(const std::string& text);
// Ends the thread's last range.
void pop();

}  // namespace duet::nvtx
