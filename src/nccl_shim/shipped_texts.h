#pragma once

#include <map>
#include <string>
#include <string_view>

namespace duet::nccl_shim {

// The texts of specs/tuning by file name. Generated.
const std::map<std::string, std::string_view>& shipped_texts();

}  // namespace duet::nccl_shim
