// A view of GPU memory for the CPU over the bus. Newer drivers allow a mapping of the memory's
// dmabuf; otherwise gdrcopy (https://github.com/NVIDIA/gdrcopy) is used, whose functions are looked
// up at run time.
#include <sys/mman.h>

#include "core/module.h"
#include "device/cuda/driver.h"
#include "device/gpu/sharing_calls.h"

namespace duet::cuda {
namespace {

constexpr std::uint64_t kGpuPage = 64 << 10;  // the granularity at which gdrcopy pins memory

// As declared in gdrapi.h.
struct GdrHandle {
  unsigned long value;
};
struct Gdr {
  Library library{{"libgdrapi.so.2", "libgdrapi.so"}};
  void* (*open)() = library.function<decltype(open)>("gdr_open");
  int (*close)(void*) = library.function<decltype(close)>("gdr_close");
  int (*pin)(void*, unsigned long, std::size_t, std::uint64_t, std::uint32_t,
             GdrHandle*) = library.function<decltype(pin)>("gdr_pin_buffer");
  int (*unpin)(void*, GdrHandle) = library.function<decltype(unpin)>("gdr_unpin_buffer");
  int (*map)(void*, GdrHandle, void**, std::size_t) = library.function<decltype(map)>("gdr_map");
  int (*unmap)(void*, GdrHandle, void*,
               std::size_t) = library.function<decltype(unmap)>("gdr_unmap");
};

// The pages that contain a span.
struct Pages {
  Pages(const Span& span, std::uint64_t page) {
    const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(span.data);
    from = begin / page * page;
    bytes = (begin + span.bytes + page - 1) / page * page - from;
    offset = begin - from;
  }

  std::uint64_t from = 0, bytes = 0, offset = 0;
};

class DmabufView : public CpuView {
 public:
  DmabufView(int ordinal, const Span& span) : exported_(dmabuf_of(ordinal, span)) {
    bytes_ = exported_.offset() + span.bytes;
    mapped_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, exported_.descriptor(), 0);
    if (mapped_ == MAP_FAILED) throw Unavailable("its dmabuf cannot be mapped");
  }
  ~DmabufView() override { munmap(mapped_, bytes_); }
  std::byte* data() const override { return static_cast<std::byte*>(mapped_) + exported_.offset(); }

 private:
  Dmabuf exported_;
  std::size_t bytes_ = 0;
  void* mapped_ = nullptr;
};

class GdrView : public CpuView {
 public:
  explicit GdrView(const Span& span) : pages_(span, kGpuPage), session_(gdr_.open()) {
    if (session_ == nullptr) throw Unavailable("gdrcopy's driver is not there");
    if (gdr_.pin(session_, pages_.from, pages_.bytes, 0, 0, &handle_) != 0) {
      gdr_.close(session_);
      throw Unavailable("gdrcopy cannot pin it");
    }
    if (gdr_.map(session_, handle_, &mapped_, pages_.bytes) == 0) return;
    gdr_.unpin(session_, handle_);
    gdr_.close(session_);
    throw Unavailable("gdrcopy cannot map it");
  }
  ~GdrView() override {
    gdr_.unmap(session_, handle_, mapped_, pages_.bytes);
    gdr_.unpin(session_, handle_);
    gdr_.close(session_);
  }
  std::byte* data() const override { return static_cast<std::byte*>(mapped_) + pages_.offset; }

 private:
  Gdr gdr_;
  Pages pages_;
  void* session_;
  GdrHandle handle_{};
  void* mapped_ = nullptr;
};

}  // namespace

std::unique_ptr<CpuView> view_memory(int ordinal, const Span& span) {
  std::string why;
  try {
    return std::make_unique<DmabufView>(ordinal, span);
  } catch (const Unavailable& error) {
    why = error.what();
  }
  try {
    return std::make_unique<GdrView>(span);
  } catch (const Unavailable& error) {
    throw Unavailable(fmt::format("cuda:{}: the CPU cannot access its memory: {}; {}", ordinal, why,
                                  error.what()));
  }
}

}  // namespace duet::cuda
