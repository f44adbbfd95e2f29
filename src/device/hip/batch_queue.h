// An HSA queue of Duet's own: a GPU's front end waits for words, without compute units, and batches
// of copies by SDMA engines start when their turn has come.
//
//   queue                            CPU (ROCr's thread)      engines
//   wait until a word >= value
//   count `turn` down -------------> submit the batch ------> its copies, each after the one before
//   wait until `done` is 0 <--------------------------------- the last one counts `done` down
//   count `passed` down -----------> progress = its number
//
// - Copies are submitted when their turn has come, as in sdma.cc, so that none lies in an engine's
//   queue before one for which it waits. All of a batch are on one engine.
// - What is added before the batch is submitted joins it.
// - Packets acquire from and release to system scope.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/gpu/event.h"
#include "device/hip/sdma.h"

namespace duet::hip {

// Packets of a queue, by one thread at a time.
class PacketQueue {
 public:
  PacketQueue(const Hsa& hsa, Hsa::Agent gpu);  // throws Unavailable
  ~PacketQueue();                               // drops what was not executed
  PacketQueue(const PacketQueue&) = delete;
  PacketQueue& operator=(const PacketQueue&) = delete;

  // Waits until `packets` more have room. Throws Timeout.
  void make_room(std::uint64_t packets) const;
  // Later packets wait until the word of a spaced semaphore is at least `value`.
  void wait_for(const std::uint64_t* word, std::uint64_t value);
  // Waits until `awaited` is 0 (none: at once), then counts `counted` down.
  void count_down(Hsa::Signal counted, Hsa::Signal awaited = {});

 private:
  void push(const void* packet, std::uint32_t first_word);

  const Hsa& hsa_;
  Hsa::Queue* queue_;
  std::uint64_t next_ = 0;
};

// Work in order. One thread at a time may call it.
class BatchQueue {
 public:
  BatchQueue(GpuDevice& device, SdmaCopies& copies);
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  // Drops what has not started and waits for what has. Returns false where that takes too long: the
  // object must then live for ever. Nothing may be called after it.
  bool close();
  ~BatchQueue();

  // Later work waits until the word of a spaced semaphore is at least `value`.
  void wait(const std::uint64_t* word, std::uint64_t value);
  // A copy by an SDMA engine. Throws as SdmaCopies::route_of().
  void add(const Copy& copy);
  // The end of what was enqueued so far.
  EventMark mark();

 private:
  struct Step {
    Hsa::EngineCopy copy;
    bool within = false;  // one GPU's memory: any engine makes it
  };
  struct Batch {
    BatchQueue* owner = nullptr;
    std::uint64_t number = 0;
    std::uint32_t engine = 0;  // of copies that are not within a GPU
    Hsa::Signal turn, done, passed;
    std::vector<Step> steps;
    std::vector<Hsa::Signal> signals;  // of the steps but the last
    bool submitted = false, failed = false, finished = false;
  };

  Batch& open();
  bool joins(const SdmaCopies::Route& route) const;
  static bool submit(std::int64_t value, void* batch);
  static bool finish(std::int64_t value, void* batch);
  void make_copies(Batch& batch);
  bool all_finished();

  SdmaCopies& copies_;
  const Hsa& hsa_;
  std::shared_ptr<Buffer> progress_;  // a spaced semaphore: the number of the last batch that ended
  std::unique_ptr<PacketQueue> packets_;

  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<Batch>> batches_;
  std::vector<Batch*> free_;
  Batch* open_ = nullptr;  // what is added now joins it, unless it was submitted
  std::uint64_t last_ = 0;
  bool waits_ = false;  // packets that wait are behind the last batch
  bool closed_ = false;
};

}  // namespace duet::hip
