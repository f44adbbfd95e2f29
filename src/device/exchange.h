// An exchange: one launch of the compute units that meets its peers, moves and reduces. What a
// collective is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/dtype.h"
#include "core/random.h"
#include "core/reduction.h"
#include "device/buffer.h"

namespace duet {

// All spans are of one size. One source is copied to every destination; several are reduced element
// by element, and the result is written to every destination. A destination may be one of the
// item's own sources; other than that, nothing that an item writes may overlap what it or another
// item of the launch touches. Spans may lie on peers whose memory the device reaches.
struct ExchangeItem {
  std::vector<Span> sources;
  std::vector<Span> destinations;

  // Semaphores that are 0 or 1, as of Stream::handshake(): the item starts when all of `after` are
  // 1, which it sets back to 0 when it is done, and then sets `then` to 1. For an exchange without
  // peers; items take their turns in order, and with semaphores between them may touch the same
  // memory. An item with semaphores may be without spans.
  std::vector<Semaphore> after = {};
  std::vector<Semaphore> then = {};
};

// What goes between a rank and one peer by way of staging memory. PacketBuffers are 0 when the
// exchange is prepared and its own from then on, of staging_bytes() each.
struct StagedPeer {
  Span source;       // the rank's, for the peer
  Span outbox;       // at the peer: the rank writes
  Span inbox;        // the rank's own: the peer writes
  Span destination;  // the rank's, for what the peer sends; the same of all where it is reduced
};

// The same work as an exchange's items do, by another way: a rank pushes words that carry the
// call's number into a box at each peer and takes out of its own what has come, so that nobody
// meets. A call ends when all that is for the rank has come; then all have come to their launch.
struct Staged {
  Span source;  // what stays with the rank: it is copied, or reduced with all that comes
  Span destination;
  std::vector<StagedPeer> peers;  // in the order of the awaited words
  bool reduces = false;
};

inline constexpr std::size_t kStagedUnit = 8;        // bytes, of which staged parts are multiples
inline constexpr std::size_t kMostStaged = 1 << 30;  // bytes of a part

// Of a box for parts of `bytes`: two calls' words, half of each word its number. A rank may be a
// call ahead of a peer but never two, since each call needs what the peer sends in it.
constexpr std::size_t staging_bytes(std::size_t bytes) { return 4 * bytes; }

// Block b of the launch handles slice b of every item, with peers of all items side by side. With
// peers it meets block b of each before and after: so no rank starts before all have come to their
// launch, and when it ends, what the peers wrote has arrived, and nobody still reads. Without peers
// it is a local kernel.
struct Exchange {
  std::vector<ExchangeItem> items;
  DType dtype = DType::fp32;  // of what is reduced; nothing to what is copied
  Reduction op = Reduction::sum;
  int blocks = 0;  // 0: the device's choice, for an exchange without peers; with peers the same
                   // number on each

  // Of each peer `blocks` words of 64 bits, in one order. They are 0 when the exchange is prepared
  // and its own from then on: call n (from 0) writes 2n + 1 and then 2n + 2 there. Writing the
  // largest number to an awaited word lets all waits for it go on: the way out when a peer is gone.
  std::vector<Span> arrivals;  // at the peer: this rank writes
  std::vector<Span> awaits;    // its own: the peer writes

  // Does it meet before, and after? Not where an exchange before or after it on the same streams
  // has seen to it. Nothing to an exchange without peers, nor to a staged one.
  bool opens = true;
  bool closes = true;

  // Each semaphore of the items is `blocks` words side by side: block b waits for word b and sets
  // it, its slice alone in mind. All who share such a semaphore have as many blocks and items of
  // one size. Devices that do not work by blocks heed the first word alone.
  bool semaphores_by_block = false;

  // On all ranks or on none. Devices of one kind either all take this way, and of the words heed
  // the largest number alone, or all take the items.
  std::optional<Staged> staged = {};
};

inline constexpr std::size_t kMostStagedPeers = 16;  // of an exchange with staged parts
inline constexpr int kExchangeThreads = 512;         // of a block

// The piece of `bytes` that is block `block`'s. Cut where a vector of 16 bytes and so every element
// ends, and in pieces that are worth a few warps' while.
struct ExchangeSlice {
  std::size_t begin = 0;
  std::size_t end = 0;
};

DUET_HOST_DEVICE inline ExchangeSlice exchange_slice(std::size_t bytes, int block, int blocks) {
  constexpr std::size_t kUnit = 2048;
  const std::size_t units = (bytes + kUnit - 1) / kUnit;
  const std::size_t share =
      (units + static_cast<std::size_t>(blocks) - 1) / static_cast<std::size_t>(blocks) * kUnit;
  const std::size_t begin = share * static_cast<std::size_t>(block);
  if (begin >= bytes) return {bytes, bytes};
  return {begin, begin + share < bytes ? begin + share : bytes};
}

// An exchange bound to its spans, made by Device::prepare(). Used by one stream at a time, since
// its calls count. It and the spans must live until they are done.
class PreparedExchange {
 public:
  virtual ~PreparedExchange() = default;
};

// What holds on every device: throws BadArgument for an item without sources or destinations or of
// unequal sizes, for elements that are cut, unaligned or of a type that is not reduced, for peers
// whose words do not fit, and for staged parts of too many peers, that are not whole units of
// aligned memory or whose boxes do not fit. Peers and spans may be any number.
void check_exchange(const Exchange& exchange);

// Does any item wait or signal?
bool has_semaphores(const Exchange& exchange);

// The same exchange for a device that does not work by blocks: each semaphore is its first word.
Exchange without_blocks(Exchange exchange);

// Bytes of an item's spans, each.
inline std::size_t item_bytes(const ExchangeItem& item) {
  return item.sources.empty() ? 0 : item.sources.front().bytes;
}

}  // namespace duet
