// The readers of other tools' output, one file each. A reader takes any bytes. It throws UsageError
// without the file's name where the output is not whole: the message says what was expected, and
// begins with the line if there is one ("7: ").
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "importing/foreign_run.h"
#include "importing/words.h"

namespace duet {

// What the user knows of a run and its output does not tell.
struct ImportOptions {
  std::string collective;              // of nccl-tests: "all_reduce"; "": not known
  std::optional<std::uint64_t> bytes;  // the buffer size of nvbandwidth
};

ForeignRun read_nccl_tests(const std::vector<Line>& lines, const ImportOptions& options);
ForeignRun read_nccl_tests_json(const nlohmann::ordered_json& report, const ImportOptions& options);
ForeignRun read_nvbandwidth(const std::vector<Line>& lines, const ImportOptions& options);
ForeignRun read_nvbandwidth_json(const nlohmann::ordered_json& report,
                                 const ImportOptions& options);
ForeignRun read_osu(const std::vector<Line>& lines);
ForeignRun read_transferbench(const std::vector<Line>& lines);

}  // namespace duet
