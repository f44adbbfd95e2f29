// Which GPUs a module has code for, by the architectures that it was built with.
#pragma once

#include <string>
#include <string_view>

namespace duet::gpu {

// `architectures` as CMAKE_CUDA_ARCHITECTURES, with commas: "90a-real,90-virtual". Real code runs
// on its major version from its minor one on, with the letter a on that one alone; virtual code on
// all from its own on. What is not a number ("all", "native") is taken to run.
bool has_cuda_code(std::string_view architectures, int major, int minor);

// "NVIDIA A100 (compute capability 8.0): this build has code for 90a; configure with
// -DDUET_CUDA_ARCHITECTURES=80-real"
std::string no_cuda_code(std::string_view architectures, std::string_view model, int major,
                         int minor);

// `architectures` as --offload-arch takes them: "gfx90a,gfx942"; `device` as the runtime names it:
// "gfx942:sramecc+:xnack-". Generic ones are taken to run.
bool has_hip_code(std::string_view architectures, std::string_view device);
std::string no_hip_code(std::string_view architectures, std::string_view model,
                        std::string_view device);

}  // namespace duet::gpu
