#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "device/compare_spans.h"
#include "device/device.h"
#include "device/device_health.h"
#include "device/engine_streams.h"
#include "device/gpu/vendor.h"
#include "device/imports.h"

namespace duet::DUET_GPU {

class EngineCopies;
class GpuMachine;
class UnitPartition;

// One GPU of a machine.
class GpuDevice : public Device, public HealthSource, public EngineStreams, public SpanComparer {
 public:
  // `ordinal` is the runtime's number of the device.
  GpuDevice(GpuMachine& machine, int index, int ordinal);
  ~GpuDevice() override;
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  const DeviceInfo& info() const override { return info_; }
  void make_current() override { use(); }
  std::unique_ptr<Stream> make_stream(const StreamOptions& options) override;
  std::unique_ptr<Stream> wrap(void* native) override;
  std::unique_ptr<Event> make_event(EventUse use = EventUse::timing) override;
  std::unique_ptr<PreparedKernel> prepare(const CollectiveKernel& kernel) override;
  void read(const Span& from, void* to) override;
  void write(const Span& to, const void* from) override;
  void signal(const Semaphore& semaphore, std::uint64_t value) override;
  std::optional<Difference> check(const Span& span, const Fill& fill) override;
  std::optional<Telemetry> telemetry() override;
  std::optional<DeviceHealth> health() override;
  std::vector<std::uint64_t> new_xids() override;
  std::optional<Difference> compare_spans(const Span& span, const Span& other) override;
  std::optional<double> joules() override;
  Span adopt(void* data, std::uint64_t bytes) override;
  MemoryDescriptor export_memory(const Span& span) override;
  void close_export(const MemoryDescriptor& descriptor) noexcept override;
  Span import_memory(const MemoryDescriptor& descriptor) override;
  void close_import(const Span& span) noexcept override;
  Dmabuf export_dmabuf(const Span& span) override;
  std::string copy_engine(const Copy& copy) override;
  void finish(double deadline_seconds) override;
  std::unique_ptr<Stream> make_engine_stream(const StreamOptions& options) override;
  Buffer allocate_spaced(std::uint64_t bytes) override;
  bool adds_in_flight() const override { return adds_in_flight_; }
  bool normalises_packets() const override { return true; }

  bool blocks_share_rows() const { return blocks_share_rows_; }  // that are normalised
  GpuMachine& machine() const { return machine_; }
  int index() const { return index_; }
  int ordinal() const { return ordinal_; }
  int max_block() const { return max_block_; }  // threads
  void use() const { use_device(ordinal_); }

  // A stream that does not synchronise with the default stream. The priority is clamped to the
  // device's range. The caller owns the stream.
  gpuStream_t create_stream(const StreamOptions& options);

  // Made by the first call. Throws Unavailable with the reason.
  EngineCopies& engine_copies();
  // Throws the error of a copy by them that failed.
  void rethrow_copy_error();
  // Whether the semaphore is a spaced one in memory of allocate_spaced().
  bool is_spaced(const Semaphore& semaphore);

 private:
  Span acquire(std::uint64_t bytes, MemoryKind kind) override;
  Span acquire_coherent(std::uint64_t bytes) override;
  // `coherent`: of device memory only.
  Span acquire_as(std::uint64_t bytes, MemoryKind kind, bool coherent);
  void release(const Span& span) noexcept override;
  Span acquire_pageable(std::uint64_t bytes);
  std::unique_ptr<CpuView> view_own(const Span& span) override;
  void drain(gpuStream_t stream, const char* what) const;
  void transfer(void* to, const void* from, std::size_t bytes);
  std::optional<Difference> search(const std::function<void()>& launch);

  GpuMachine& machine_;
  const int index_;
  const int ordinal_;
  int max_block_ = 0;
  bool adds_in_flight_ = false, blocks_share_rows_ = false;
  DeviceInfo info_;
  std::atomic<int> streams_made_{0};
  std::mutex partitions_mutex_;
  std::map<int, std::unique_ptr<UnitPartition>> partitions_;  // by number of units left out
  Imports imports_;
  std::mutex engine_copies_mutex_;
  std::unique_ptr<EngineCopies> engine_copies_;  // nullptr: not used yet
  std::mutex spaced_mutex_;
  std::map<const std::byte*, std::uint64_t> spaced_;  // bytes of memory of allocate_spaced()

  // For blocking access (read, write, check): one call at a time.
  std::mutex service_mutex_;
  gpuStream_t service_ = nullptr;
  Difference* found_ = nullptr;  // device memory

  // Stream for signals from the host only, so that they never wait behind other work.
  std::mutex signal_mutex_;
  gpuStream_t signals_ = nullptr;
};

}  // namespace duet::DUET_GPU
