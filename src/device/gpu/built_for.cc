#include "device/gpu/built_for.h"

#include <fmt/format.h>

#include <cctype>
#include <vector>

namespace duet::gpu {
namespace {

std::vector<std::string_view> entries(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(',');
    if (end != 0 && !text.empty()) parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// An entry of CMAKE_CUDA_ARCHITECTURES.
struct CudaTarget {
  int number = 0;  // 90; 0: the entry has no number
  char letter = 0;
  bool real = true, virtual_code = true;
};

CudaTarget parse_target(std::string_view text) {
  CudaTarget target;
  std::size_t at = 0;
  while (at < text.size() && at < 4 && std::isdigit(static_cast<unsigned char>(text[at])) != 0) {
    target.number = 10 * target.number + (text[at++] - '0');
  }
  if (at < text.size() && text[at] != '-') target.letter = text[at++];
  target.real = text.substr(at) != "-virtual";
  target.virtual_code = text.substr(at) != "-real";
  return target;
}

bool runs_on(const CudaTarget& target, int device) {
  if (target.number == 0) return true;
  if (target.letter == 'a') return device == target.number;
  const bool same_major = device / 10 == target.number / 10;
  if (device < target.number) return false;
  return same_major || (target.virtual_code && target.letter == 0);
}

}  // namespace

bool has_cuda_code(std::string_view architectures, int major, int minor) {
  for (const std::string_view entry : entries(architectures)) {
    if (runs_on(parse_target(entry), 10 * major + minor)) return true;
  }
  return false;
}

std::string no_cuda_code(std::string_view architectures, std::string_view model, int major,
                         int minor) {
  std::string built;
  for (const std::string_view entry : entries(architectures)) {
    const std::string_view name = entry.substr(0, entry.find('-'));
    if (!built.empty()) built += ", ";
    built += name;
    const CudaTarget target = parse_target(entry);
    if (target.virtual_code && target.letter == 0) built += " and newer";
  }
  return fmt::format(
      "{} (compute capability {}.{}): this build has code for {}; configure with "
      "-DDUET_CUDA_ARCHITECTURES={}{}-real",
      model, major, minor, built, major, minor);
}

bool has_hip_code(std::string_view architectures, std::string_view device) {
  const std::string_view processor = device.substr(0, device.find(':'));
  for (const std::string_view entry : entries(architectures)) {
    if (entry.find("generic") != std::string_view::npos) return true;
    if (entry.substr(0, entry.find(':')) == processor) return true;
  }
  return false;
}

std::string no_hip_code(std::string_view architectures, std::string_view model,
                        std::string_view device) {
  const std::string_view processor = device.substr(0, device.find(':'));
  return fmt::format(
      "{} ({}): this build has code for {}; configure with -DDUET_HIP_ARCHITECTURES={}", model,
      processor, fmt::join(entries(architectures), ", "), processor);
}

}  // namespace duet::gpu
