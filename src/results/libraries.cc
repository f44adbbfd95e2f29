#include "results/libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/module.h"

namespace duet {
namespace {

// Looks a function up and calls it; "" if the library does not have it.
template <typename Function, typename Use>
std::string with(void* library, const char* symbol, Use use) {
  auto* function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function == nullptr ? "" : use(function);
}

using IntoInt = int (*)(int*);  // returns a status: 0 is success for all vendors

std::string decimal(long value, long major, long minor) {
  return fmt::format("{}.{}.{}", value / major, value % major / minor, value % minor);
}

// cuda.h: CUDA_VERSION is 1000 x major + 10 x minor.
std::string cuda_driver(void* library) {
  return with<IntoInt>(library, "cuDriverGetVersion", [](IntoInt call) {
    int v = 0;
    return call(&v) == 0 ? fmt::format("CUDA {}.{}", v / 1000, v % 1000 / 10) : "";
  });
}

// cublasLt.h: 10000 x major + 100 x minor + patch.
std::string cublas(void* library) {
  using Call = std::size_t (*)();
  return with<Call>(library, "cublasLtGetVersion",
                    [](Call call) { return decimal(static_cast<long>(call()), 10000, 100); });
}

// cudnn_version.h of version 9: as cuBLAS.
std::string cudnn(void* library) {
  using Call = std::size_t (*)();
  return with<Call>(library, "cudnnGetVersion",
                    [](Call call) { return decimal(static_cast<long>(call()), 10000, 100); });
}

// nccl.h since 2.9, and rccl.h: 10000 x major + 100 x minor + patch.
std::string nccl(void* library) {
  return with<IntoInt>(library, "ncclGetVersion", [](IntoInt call) {
    int v = 0;
    return call(&v) == 0 ? decimal(v, 10000, 100) : "";
  });
}

std::string nvml(void* library) {
  using Init = int (*)();
  using Version = int (*)(char*, unsigned);
  with<Init>(library, "nvmlInit_v2", [](Init call) { return std::to_string(call()); });
  return with<Version>(library, "nvmlSystemGetDriverVersion", [](Version call) {
    char text[96] = "";
    return call(text, sizeof text) == 0 ? fmt::format("driver {}", text) : "";
  });
}

// hip_version.h: 10^7 x major + 10^5 x minor + patch.
std::string hip(void* library) {
  return with<IntoInt>(library, "hipRuntimeGetVersion", [](IntoInt call) {
    int v = 0;
    return call(&v) == 0 ? decimal(v, 10000000, 100000) : "";
  });
}

// rocm_smi.h: rsmi_version_t opens with three numbers.
std::string rocm_smi(void* library) {
  struct Version {
    std::uint32_t major, minor, patch;
    const char* build;
  };
  using Call = int (*)(Version*);
  return with<Call>(library, "rsmi_version_get", [](Call call) {
    Version v{};
    return call(&v) == 0 ? fmt::format("{}.{}.{}", v.major, v.minor, v.patch) : "";
  });
}

// amdsmi.h: amdsmi_version_t opens with three numbers; the first is that of the file.
std::string amd_smi(void* library) {
  using Call = int (*)(std::uint32_t*);
  return with<Call>(library, "amdsmi_get_lib_version", [](Call call) {
    std::uint32_t v[16] = {};
    return call(v) == 0 ? fmt::format("{}.{}.{}", v[0], v[1], v[2]) : "";
  });
}

// "4.2.0.abcdef"
std::string rocblas(void* library) {
  using Call = int (*)(char*, std::size_t);
  return with<Call>(library, "rocblas_get_version_string", [](Call call) {
    char text[256] = "";
    return call(text, sizeof text) == 0 ? std::string(text) : "";
  });
}

// hipblaslt-version.h: 10^5 x major + 100 x minor + patch. It wants a handle, which needs a GPU.
std::string hipblaslt(void* library) {
  using Create = int (*)(void**);
  using Call = int (*)(void*, int*);
  using Destroy = int (*)(void*);
  void* handle = nullptr;
  with<Create>(library, "hipblasLtCreate",
               [&handle](Create call) { return call(&handle) == 0 ? "made" : ""; });
  if (handle == nullptr) return "";
  const std::string version = with<Call>(library, "hipblasLtGetVersion", [handle](Call call) {
    int v = 0;
    return call(handle, &v) == 0 ? decimal(v, 100000, 100) : "";
  });
  with<Destroy>(library, "hipblasLtDestroy",
                [handle](Destroy call) { return std::to_string(call(handle)); });
  return version;
}

// dnnl_types.h: dnnl_version_t opens with int major, minor, patch.
std::string onednn(void* library) {
  using Call = const int* (*)();
  return with<Call>(library, "dnnl_version", [](Call call) {
    const int* v = call();
    return fmt::format("{}.{}.{}", v[0], v[1], v[2]);
  });
}

std::string openblas(void* library) {
  using Call = const char* (*)();
  return with<Call>(library, "openblas_get_config", [](Call call) {
    std::string_view text = call();  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
    text.remove_prefix(text.substr(0, 9) == "OpenBLAS " ? 9 : 0);
    return std::string(text.substr(0, text.find(' ')));
  });
}

std::string mpi(void* library) {
  using Call = int (*)(char*, int*);
  return with<Call>(library, "MPI_Get_library_version", [](Call call) {
    char text[8192] = "";  // MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI, 8192 in MPICH
    int length = 0;
    call(text, &length);
    const std::string_view line = text;
    return std::string(line.substr(0, line.find_first_of(",\n")));
  });
}

// fi_version(3): the major number in the upper 16 bits.
std::string libfabric(void* library) {
  using Call = unsigned (*)();
  return with<Call>(library, "fi_version", [](Call call) {
    const unsigned v = call();
    return fmt::format("{}.{}", v >> 16, v & 0xffff);
  });
}

struct Known {
  const char* name;
  const char* purpose;
  std::vector<const char*> files;
  std::string (*version)(void* library);
};

const std::vector<Known>& known() {
  static const std::vector<Known> list = {
      {"CUDA driver", "NVIDIA GPUs", {"libcuda.so.1"}, cuda_driver},
      {"NVML", "clocks and power of NVIDIA GPUs", {"libnvidia-ml.so.1"}, nvml},
      {"cuBLAS", "GEMM on NVIDIA GPUs", {"libcublasLt.so.13", "libcublasLt.so.12"}, cublas},
      {"cuDNN", "deep learning on NVIDIA GPUs", {"libcudnn.so.9"}, cudnn},
      {"NCCL", "collectives on NVIDIA GPUs", {"libnccl.so.2"}, nccl},
      {"HIP", "AMD GPUs", {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}, hip},
      {"AMD SMI",
       "clocks and power of AMD GPUs",
       {"libamd_smi.so.27", "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24"},
       amd_smi},
      {"ROCm SMI",
       "clocks and power of AMD GPUs",
       {"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.1"},
       rocm_smi},
      {"rocBLAS", "GEMM on AMD GPUs", {"librocblas.so.5", "librocblas.so.4"}, rocblas},
      {"hipBLASLt", "GEMM on AMD GPUs", {"libhipblaslt.so.1", "libhipblaslt.so.0"}, hipblaslt},
      {"RCCL", "collectives on AMD GPUs", {"librccl.so.1"}, nccl},
      {"oneDNN", "GEMM on CPUs", {"libdnnl.so.3", "libdnnl.so.2"}, onednn},
      {"OpenBLAS", "GEMM on CPUs", {"libopenblas.so.0"}, openblas},
      {"MPI", "starting ranks, collectives", {"libmpi.so.40", "libmpi.so.12"}, mpi},
      {"libfabric", "networks between nodes", {"libfabric.so.1"}, libfabric}};
  return list;
}

// Shortens the loader's message for a file that was not found; other messages stay as they are.
std::string why_not(const char* file) {
  const char* message = dlerror();
  if (message == nullptr) return "not loaded";  // all that RTLD_NOLOAD says
  const std::string nowhere =
      std::string(file) + ": cannot open shared object file: No such file or directory";
  return message == nowhere ? std::string(file) + " not found" : message;
}

LibraryState look(const Known& library, LibrarySearch search) {
  LibraryState state{library.name, library.purpose, false, "", ""};
  if (search == LibrarySearch::load && library.name == std::string("OpenBLAS")) {
    if (state.reason = no_room_for(kOpenBlasBytes); !state.reason.empty()) return state;
  }
  const int how = RTLD_LAZY | RTLD_LOCAL | (search == LibrarySearch::loaded ? RTLD_NOLOAD : 0);
  for (const char* file : library.files) {
    // Never closed: vendors' runtimes register exit handlers.
    if (void* handle = dlopen(file, how)) {
      state.found = true;
      state.reason.clear();
      state.version = library.version(handle);
      if (state.version.empty()) state.version = "unknown version";
      return state;
    }
    // The first name is that of the newest version.
    const std::string reason = why_not(file);
    if (state.reason.empty()) state.reason = reason;
  }
  return state;
}

}  // namespace

std::vector<LibraryState> libraries(LibrarySearch search) {
  std::vector<LibraryState> states;
  for (const Known& library : known()) states.push_back(look(library, search));
  return states;
}

}  // namespace duet
