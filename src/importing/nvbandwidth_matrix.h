// What the text and the JSON of nvbandwidth have in common: matrices of figures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "importing/readers.h"

namespace duet {

// A figure for each pair of row and column. A cell that is no number, such as "N/A", or 0, as older
// versions have it, is a pair that was not measured.
struct NvbandwidthMatrix {
  std::string test;         // "device_to_device_memcpy_read_ce"
  std::string description;  // "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)"
  std::vector<std::vector<std::string>> rows;
  std::optional<Printed> sum;       // of all figures
  std::vector<std::string> places;  // of the rows, as ForeignCase has them
};

// Appends a case for each figure of the matrix. Tests that Duet measures too have its axes; the
// others are of the benchmark "nvbandwidth". Throws UsageError if the matrix has no figures, rows
// of different lengths, a cell that is no figure, or another sum.
void take_matrix(ForeignRun& run, const NvbandwidthMatrix& matrix, const ImportOptions& options);

// Appends the case of a test without figures, which was skipped, or failed.
void take_without_figures(ForeignRun& run, bool skipped, const std::string& test,
                          const std::string& reason, const std::string& place);

// A run without devices and cases.
ForeignRun nvbandwidth_run(const std::string& form);

// The device of "NVIDIA H200 (00000000:1b:00)"; the address may be missing.
ForeignDevice nvbandwidth_device(std::int64_t index, std::string text);

// Names the machine by its devices, if there are any, once all are known.
void name_machine(ForeignRun& run);

}  // namespace duet
