// The comments of nccl-tests' text that tell how to read its rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "importing/foreign_run.h"

namespace duet {

struct RankLine {
  std::int64_t rank = 0;
  std::string group, host, process;
  ForeignDevice device;
};

// Of "#  Rank  0 Group  0 Pid 258189 on node-1 device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB";
// nullopt of other lines. Older versions have no group.
std::optional<RankLine> rank_line(std::string_view line);

// "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20
// ...".
struct NcclTestsOptions {
  std::optional<int> warm_ups;
  std::string iterations;                         // "": unknown
  int graph_launches = 0;                         // 0: not captured
  std::int64_t least = 0, largest = 0, step = 0;  // of the sizes; 0: unknown
  bool factor = false;                            // of the step
  bool tells_reduced = false;  // the version prints it where it reduces the largest size

  // How many sizes the run goes through; nullopt if the options do not tell.
  std::optional<std::int64_t> sizes() const;
};

NcclTestsOptions options_of(std::string_view line);

// The columns of one group of figures, by place.
struct FigureColumns {
  std::size_t time = 0, algbw = 0, busbw = 0;
  std::size_t check = 0;  // what checking the data gave; 0: no such column
  bool in_place = false;
};

struct NcclTestsHeader {
  std::size_t size = 0, count = 0, type = 0;
  std::optional<std::size_t> op, root;
  std::vector<FigureColumns> groups;
  std::size_t columns = 0;  // that a row needs
  bool cpu_time = false;
  bool largest_error = false;  // `check` is the largest difference, as older versions have it
};

// Of the line with the heads; `above` is the line above, which names the groups. Throws UsageError
// if a group has not all columns, or if there are other groups than out of place and in place.
NcclTestsHeader header_of(std::vector<std::string> heads, std::string_view above);

}  // namespace duet
