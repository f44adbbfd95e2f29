#include "collectives/nccl/communicators.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "collectives/nccl/within.h"
#include "core/error.h"

namespace duet::nccl {
namespace {

constexpr double kConnectSeconds = 120;  // NCCL's own set-up of many GPUs takes seconds
constexpr double kEndSeconds = 30;

Config config_of(const Mode& mode) {
  Config config;
  if (mode.zero_cta) config.cta_policy = kPolicyZeroCta;
  if (mode.max_ctas > 0) config.max_ctas = mode.max_ctas;
  return config;
}

Comm init(const Library& library, const Mode& mode, const UniqueId& id, int rank, int size) {
  Comm comm = nullptr;
  if (mode.zero_cta || mode.max_ctas > 0) {
    Config config = config_of(mode);
    DUET_NCCL_CHECK(library, comm_init_config(&comm, size, id, rank, &config));
  } else {
    DUET_NCCL_CHECK(library, comm_init(&comm, size, id, rank));
  }
  return comm;
}

// The id that rank 0 creates, distributed to all ranks.
UniqueId agreed_id(const Library& library, Rank& rank) {
  UniqueId id{};
  if (rank.index == 0) DUET_NCCL_CHECK(library, get_unique_id(&id));
  const auto all = rank.team.gather(rank, std::string(id.bytes, sizeof id.bytes),
                                    fmt::format("rank 0 to send {}'s unique id", library.product),
                                    kConnectSeconds);
  all->front().copy(id.bytes, sizeof id.bytes);
  return id;
}

}  // namespace

Communicators::Communicators(const Library& library, Mode mode, Team& team)
    : library_(library),
      mode_(std::move(mode)),
      team_(team),
      comms_(static_cast<std::size_t>(team.local_size()), nullptr),
      enqueuing_(comms_.size()) {
  try {
    if (&team.whole() == &team) team.each([&](Rank& rank) { connect(rank); });
  } catch (const std::exception& error) {
    give_up(error.what());
    throw;
  }
  // Device work that waits for a rank which has exited ends only by an abort.
  on_failure_ = team_.on_failure([this](const std::string& reason) { give_up(reason); });
}

void Communicators::connect(Rank& rank) {
  if (comms_[static_cast<std::size_t>(rank.local)] != nullptr) return;
  const UniqueId id = agreed_id(library_, rank);
  const auto made = std::make_shared<Comm>(nullptr);
  together(rank, fmt::format("{}: all ranks to join", library_.product),
           [made, id, mode = mode_, &library = library_, &device = rank.device, index = rank.index,
            size = rank.size] {
             device.make_current();
             *made = init(library, mode, id, index, size);
           });
  comms_[static_cast<std::size_t>(rank.local)] = *made;
}

CommRank Communicators::comm_rank(const Rank& rank) const {
  return {comms_[static_cast<std::size_t>(rank.local)], rank.index, rank.size};
}

void Communicators::together(Rank& rank, const std::string& what, std::function<void()> call) {
  require_usable();
  try {
    within(
        kConnectSeconds, fmt::format("rank {}: {}", rank.index, what),
        [this] { return given_up_.load(); }, std::move(call));
  } catch (const std::exception& error) {
    note_reason(error.what());
    given_up_ = true;
    throw;
  }
}

void Communicators::enqueue(int local, const std::function<void()>& call) {
  try {
    const std::lock_guard<std::mutex> lock(enqueuing_[static_cast<std::size_t>(local)]);
    require_usable();
    call();
  } catch (const PeerFailed&) {
    throw;
  } catch (const std::exception& error) {
    team_.fail(team_.first_local() + local, error.what());
    give_up(error.what());
    throw;
  }
}

void Communicators::require_usable() const {
  if (given_up_.load(std::memory_order_relaxed)) {
    const std::lock_guard<std::mutex> lock(reason_mutex_);
    throw PeerFailed(fmt::format("{}: {} was aborted", reason_, library_.product));
  }
}

void Communicators::note_reason(const std::string& reason) {
  const std::lock_guard<std::mutex> lock(reason_mutex_);
  if (reason_.empty()) reason_ = reason;
}

void Communicators::give_up(const std::string& reason) noexcept {
  note_reason(reason);
  given_up_ = true;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (aborted_) return;
  aborted_ = true;
  for (std::size_t local = 0; local < comms_.size(); ++local) {
    const std::lock_guard<std::mutex> not_in_use(enqueuing_[local]);
    if (comms_[local] != nullptr) forget(library_.comm_abort(comms_[local]));
  }
}

bool Communicators::healthy() const {
  for (const Comm comm : comms_) {
    Result state = kSuccess;
    if (comm == nullptr || library_.comm_async_error(comm, &state) != kSuccess ||
        state != kSuccess) {
      return false;
    }
  }
  return true;
}

// Destroys the communicators one after another; ranks need not destroy theirs at the same time.
Communicators::~Communicators() {
  team_.forget(on_failure_);
  if (given_up_ || !healthy()) {
    give_up("it was not whole at its end");
    return;
  }
  for (const Comm comm : comms_) {
    try {
      within(
          kEndSeconds, "destroying a communicator", [] { return false; },
          [&library = library_, comm] { forget(library.comm_destroy(comm)); });
    } catch (const Error&) {
      return;  // a peer has exited: memory stays allocated until this process ends
    }
  }
}

}  // namespace duet::nccl
