#include "fabric/memory.h"

#include <fmt/format.h>

#include "core/deadline.h"
#include "core/error.h"
#include "core/packing.h"

namespace duet {
namespace {

constexpr double kUnmapSeconds = 10;

}  // namespace

FabricMemory::FabricMemory(FabricSession& session, const FabricTask& task, Device& device)
    : session_(session),
      task_(task),
      self_(session.processes().index()),
      processes_(session.processes().size()),
      device_(device),
      stream_(device.make_stream()) {
  const std::uint64_t bytes = buffer_bytes(task_, processes_);
  if (task_.sends(self_)) out_buffer_ = device.allocate(bytes, task_.memory);
  if (task_.receives(self_)) in_buffer_ = device.allocate(bytes, task_.memory);
  out_ = std::make_unique<Region>(session.rails(), out_buffer_.span(), self_);
  in_ = std::make_unique<Region>(session.rails(), in_buffer_.span(), self_);
  const auto all =
      session.processes().gather_all(pack({out_->descriptors(), in_->descriptors()}),
                                     "all processes to register memory", kDefaultDeadlineSeconds);
  std::vector<std::string> outs, ins;
  for (const std::string& each : all) {
    outs.push_back(unpack(each).at(0));
    ins.push_back(unpack(each).at(1));
  }
  out_->import_all(outs);
  in_->import_all(ins);
}

FabricMemory::~FabricMemory() {
  if (task_.path != MemoryPath::ipc) return;
  in_.reset();
  out_.reset();
  try {
    session_.processes().barrier("all processes to unmap memory", kUnmapSeconds);
  } catch (const Error&) {  // the case has failed already, with an error of its own
  }
}

Fill FabricMemory::pattern(std::uint64_t number, int process) const {
  const auto size = static_cast<std::uint64_t>(processes_);
  return {FillKind::pattern, size * number + static_cast<std::uint64_t>(process), 0, DType::int8};
}

void FabricMemory::fill(std::uint64_t number) {
  const Fill poison{FillKind::constant, number & 0xFF, 0, DType::int8};
  if (out_buffer_.bytes() > 0) stream_->fill(out_buffer_.span(), pattern(number, self_));
  if (in_buffer_.bytes() > 0) stream_->fill(in_buffer_.span(), poison);
  stream_->synchronize(kDefaultDeadlineSeconds);
}

void FabricMemory::check(std::uint64_t number) const {
  if (in_buffer_.bytes() == 0) return;
  if (!task_.all_to_all()) return check_from(number, 1 - self_, 0, in_buffer_.bytes());
  for (int sender = 0; sender < processes_; ++sender) {
    if (sender == self_) continue;
    check_from(number, sender, static_cast<std::uint64_t>(sender) * task_.bytes, task_.bytes);
  }
}

// The data of `sender` are at `offset` here; the sender had them at this process's slot.
void FabricMemory::check_from(std::uint64_t number, int sender, std::uint64_t offset,
                              std::uint64_t bytes) const {
  const std::uint64_t there =
      task_.all_to_all() ? static_cast<std::uint64_t>(self_) * task_.bytes : 0;
  Fill expected = pattern(number, sender);
  expected.offset = there;
  const auto found = device_.check(in_buffer_.slice(offset, bytes), expected);
  if (!found) return;
  throw Mismatch(
      fmt::format("iteration {}: {} of {} bytes from process {} are wrong, the first at {}", number,
                  found->count, bytes, sender, found->first_offset));
}

}  // namespace duet
