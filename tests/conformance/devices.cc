#include "devices.h"

namespace duet::conformance {

std::vector<std::string> machines() {
  return {"host", "host:3", "sim:mi300x-8", "cuda", "cuda:0:2", "hip"};
}

void DeviceTest::SetUp() {
  try {
    machine_ = open_machine(GetParam());
  } catch (const UsageError& error) {
    GTEST_SKIP() << error.what();
  }
}

Buffer DeviceTest::filled(Device& owner, std::size_t bytes, const Fill& fill, MemoryKind kind) {
  Buffer buffer = owner.allocate(bytes, kind);
  auto stream = owner.make_stream();
  stream->fill(buffer.span(), fill);
  stream->synchronize(kDeadline);
  return buffer;
}

Buffer DeviceTest::zeroed(Device& owner, std::size_t bytes) {
  Buffer buffer = owner.allocate_coherent(bytes);
  const std::vector<std::byte> zeros(bytes, std::byte{0});
  owner.write(buffer.span(), zeros.data());
  return buffer;
}

}  // namespace duet::conformance
