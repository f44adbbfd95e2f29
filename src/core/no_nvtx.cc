// Of builds without CUDA, whose toolkit has NVTX.
#include "core/nvtx.h"

namespace duet::nvtx {

bool has_tool() { return false; }
Name registered(const char*) { return nullptr; }
void name_category(std::uint32_t, const char*) {}
void push(Name, std::uint64_t, std::uint32_t) {}
void push(const std::string&) {}
void pop() {}

}  // namespace duet::nvtx
