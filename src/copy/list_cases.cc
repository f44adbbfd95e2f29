#include <algorithm>
#include <numeric>

#include "copy/copy_work.h"
#include "copy/transfer_list.h"
#include "timing/sampler.h"

namespace duet {
namespace {

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
