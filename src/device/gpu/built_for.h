#pragma once

#include <string>
#include <string_view>

namespace duet::gpu {

// Whether a module that was built for `architectures` has code for a GPU. `architectures` is
// CMAKE_CUDA_ARCHITECTURES with commas: "90a-real,90-virtual".
// - Real code runs on the same major version with the same or a higher minor version; with the
//   letter `a` on exactly its version.
// - Virtual code runs on its version and all higher ones.
// - An entry that is not a number ("all", "native") counts as code for every GPU.
bool has_cuda_code(std::string_view architectures, int major, int minor);

// The error message for a GPU without code: "NVIDIA A100 (compute capability 8.0): this build has
// code for 90a; configure with -DDUET_CUDA_ARCHITECTURES=80-real".
std::string no_cuda_code(std::string_view architectures, std::string_view model, int major,
                         int minor);

// As has_cuda_code(). `architectures` are in the form of --offload-arch: "gfx90a,gfx942". `device`
// is the runtime's name: "gfx942:sramecc+:xnack-". A generic architecture counts as code for every
// GPU.
bool has_hip_code(std::string_view architectures, std::string_view device);
std::string no_hip_code(std::string_view architectures, std::string_view model,
                        std::string_view device);

}  // namespace duet::gpu
