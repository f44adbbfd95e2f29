#include "copy/transfer_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>

#include "copy/copy_work.h"
#include "core/error.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "timing/sampler.h"

namespace duet {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
constexpr std::size_t kMostTransfers = 1024;  // of one list
constexpr std::size_t kMostName = 60;
constexpr const char* kUnnamed = "list";
constexpr const char* kForm =
    "BYTES FROM TO [dma|sdma|kernel|host] [push|pull], as 64M 0 1 kernel pull, where FROM or TO "
    "may be "
    "pinned or pageable";

bool is_executor(const std::string& word) {
  return word == "dma" || word == "sdma" || word == "kernel" || word == "host";
}

class ListParser {
 public:
  ListParser(const std::string& file, int devices) : file_(file), devices_(devices) {}

  void take(const std::string& line) {
    ++number_;
    const std::string text = trim(line.substr(0, line.find('#')));
    if (text.empty()) return;
    if (text.front() == '[') return begin_list(text);
    if (lists_.empty()) add_list(kUnnamed);
    if (lists_.back().transfers.size() == kMostTransfers) {
      fail(fmt::format("expected at most {} transfers in a list", kMostTransfers));
    }
    std::istringstream words(text);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    lists_.back().transfers.push_back(transfer(fields));
  }

  std::vector<TransferList> finish() {
    if (lists_.empty()) fail(fmt::format("no transfers, expected lines of {}", kForm));
    require_transfers();
    return std::move(lists_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(fmt::format("{}:{}: {}", file_, number_, what));
  }

  void begin_list(const std::string& text) {
    const std::string inner = text.back() == ']' ? trim(text.substr(1, text.size() - 2)) : "";
    if (inner.empty() || inner.size() > kMostName || one_line(inner) != inner) {
      fail(fmt::format("expected [NAME], with up to {} characters, not '{}'", kMostName,
                       one_line(text)));
    }
    require_transfers();
    add_list(inner);
  }

  void require_transfers() const {
    if (lists_.empty() || !lists_.back().transfers.empty()) return;
    fail(fmt::format("list [{}] has no transfers", lists_.back().name));
  }

  void add_list(const std::string& name) {
    if (!names_.insert(name).second) fail(fmt::format("list [{}] is there twice", name));
    lists_.push_back({name, {}});
  }

  Transfer transfer(const std::vector<std::string>& fields) const {
    if (fields.size() < 3 || fields.size() > 5) fail(fmt::format("expected {}", kForm));
    Transfer result;
    result.bytes = bytes(fields[0]);
    set_ends(result, fields[1], fields[2]);
    std::optional<Issue> issue;
    bool executor = false;
    for (std::size_t i = 3; i < fields.size(); ++i) {
      const std::string& word = fields[i];
      if (!issue && (word == "push" || word == "pull")) {
        issue = parse_issue(word);
      } else if (!executor && i == 3 && is_executor(word)) {
        result.executor = parse_executor(word);
        executor = true;
      } else {
        fail(fmt::format("'{}': expected {}", one_line(word), kForm));
      }
    }
    if (issue && *issue == Issue::pull) result.issuer = result.destination.rank;
    require_reachable(result);
    return result;
  }

  std::uint64_t bytes(const std::string& text) const {
    std::uint64_t size = 0;
    try {
      size = parse_bytes(text);
    } catch (const UsageError& error) {
      fail(error.what());
    }
    if (size < 1 || size > kMostBytes) fail(fmt::format("{}: expected 1 byte to 1 TiB", text));
    return size;
  }

  // Host memory is accessed by the device at the other end, which issues the copy.
  void set_ends(Transfer& result, const std::string& from, const std::string& to) const {
    const std::optional<MemoryKind> host_source = host_memory(from);
    const std::optional<MemoryKind> host_destination = host_memory(to);
    if (host_source && host_destination) fail("expected a device at one end at least");
    const int source = host_source ? device(to) : device(from);
    const int destination = host_destination ? device(from) : device(to);
    result.source = {source, host_source.value_or(MemoryKind::device)};
    result.destination = {destination, host_destination.value_or(MemoryKind::device)};
    result.issuer = source;
  }

  static std::optional<MemoryKind> host_memory(const std::string& word) {
    if (word == "pinned") return MemoryKind::pinned;
    if (word == "pageable") return MemoryKind::pageable;
    return std::nullopt;
  }

  int device(const std::string& word) const {
    const bool digits = !word.empty() && word.size() < 7 &&
                        word.find_first_not_of("0123456789") == std::string::npos;
    const int number = digits ? std::stoi(word) : devices_;
    if (number < devices_) return number;
    fail(fmt::format("'{}': expected a device from 0 to {}, pinned or pageable", one_line(word),
                     devices_ - 1));
  }

  void require_reachable(const Transfer& transfer) const {
    const bool pageable = transfer.source.memory == MemoryKind::pageable ||
                          transfer.destination.memory == MemoryKind::pageable;
    if (pageable && transfer.executor == Executor::kernel) {
      fail("kernels cannot access pageable memory: expected pinned, or dma");
    }
    if (pageable && transfer.executor == Executor::sdma) {
      fail("SDMA engines cannot access pageable memory: expected pinned, or dma");
    }
  }

  std::string file_;
  int devices_;
  int number_ = 0;
  std::vector<TransferList> lists_;
  std::set<std::string> names_;
};

std::string place_text(const Endpoint& end) {
  return end.memory == MemoryKind::device   ? std::to_string(end.rank)
         : end.memory == MemoryKind::pinned ? "pinned"
                                            : "pageable";
}

// Only the devices of the list form the team; its device numbers become ranks of that team.
std::vector<int> devices_of(std::vector<Transfer>& transfers) {
  std::vector<int> devices;
  for (const Transfer& one : transfers) {
    for (const int rank : {one.source.rank, one.destination.rank}) devices.push_back(rank);
  }
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  const auto rank_of = [&devices](int device) {
    return static_cast<int>(std::lower_bound(devices.begin(), devices.end(), device) -
                            devices.begin());
  };
  for (Transfer& one : transfers) {
    for (int* rank : {&one.source.rank, &one.destination.rank, &one.issuer}) *rank = rank_of(*rank);
  }
  return devices;
}

std::string contents_of(const std::vector<Transfer>& transfers) {
  std::string text;
  for (const Transfer& one : transfers) text += (text.empty() ? "" : "; ") + text_of(one);
  return text;
}

Measurement measure_list(Machine& machine, const CaseId& id, std::vector<Transfer> transfers,
                         const std::pair<Mode, std::function<bool()>>& how) {
  Measurement result;
  result.id = id;
  result.notes.emplace_back("transfers", contents_of(transfers));
  Team team(machine, devices_of(transfers));
  CopyWork work(team, transfers);
  result.cost = work.cost();
  result.sampling = Sampler(team, how.second).measure(work, how.first);
  if (!work.engines().empty()) result.notes.emplace_back("sdma_engines", work.engines());
  return result;
}

}  // namespace

std::vector<TransferList> parse_transfer_lists(const std::string& file, std::string_view text,
                                               int devices) {
  ListParser parser(file, devices);
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) parser.take(line);
  return parser.finish();
}

std::string text_of(const Transfer& transfer) {
  const bool push = transfer.issuer == transfer.source.rank;
  const bool two = transfer.source.rank != transfer.destination.rank;
  return fmt::format("{} {}>{} {}{}", format_bytes(transfer.bytes), place_text(transfer.source),
                     place_text(transfer.destination), name(transfer.executor),
                     !two   ? ""
                     : push ? " push"
                            : " pull");
}

Benchmark transfer_list_benchmark(Machine& machine, const TransferListOptions& options,
                                  const std::function<bool()>& stop) {
  Benchmark benchmark;
  const auto add = [&](const std::string& list, const std::string& part,
                       const std::vector<Transfer>& transfers) {
    const std::uint64_t bytes =
        std::accumulate(transfers.begin(), transfers.end(), std::uint64_t{0},
                        [](std::uint64_t sum, const Transfer& one) { return sum + one.bytes; });
    const CaseId id{"transfers",
                    options.device_name,
                    "duet",
                    {{"list", list},
                     {"part", part},
                     {"transfers", static_cast<std::int64_t>(transfers.size())},
                     {"bytes", static_cast<std::int64_t>(bytes)}}};
    benchmark.cases.push_back({id,
                               [&machine, id, transfers, how = std::pair(options.mode, stop)] {
                                 return measure_list(machine, id, transfers, how);
                               },
                               options.mode});
  };
  for (const TransferList& list : options.lists) {
    if (options.alone && list.transfers.size() > 1) {
      for (std::size_t i = 0; i < list.transfers.size(); ++i) {
        add(list.name, std::to_string(i + 1) + ": " + text_of(list.transfers[i]),
            {list.transfers[i]});
      }
    }
    add(list.name, "all", list.transfers);
  }
  benchmark.conclude = [](const std::vector<Finished>&) { return std::vector<Measurement>{}; };
  return benchmark;
}

}  // namespace duet
