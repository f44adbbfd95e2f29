// Results as comma-separated values (RFC 4180 with line feeds): a line a case.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "results/writers/writer.h"

namespace duet {

// How every table begins.
inline constexpr const char* kCsvHead = "benchmark,device,engine,";

// A line with its line feed; cells are quoted where they must be. At least one cell.
std::string csv_line(const std::vector<std::string>& cells);
// Appends the case's axes that the list lacks.
void add_axes(std::vector<std::string>& axes, const CaseId& id);
// Benchmark, device, engine, and the value of each axis, "" for one that the case does not have.
std::vector<std::string> csv_case(const std::vector<std::string>& axes, const CaseId& id);

class CsvWriter : public Writer {
 public:
  // The columns are stable: benchmark, device, engine, a column for each axis of the planned
  // sections in order of appearance, then outcome, times, rates and, where a section is of the
  // benchmark overlap, its metrics. `write` takes whole lines.
  CsvWriter(const std::vector<Section>& planned, std::function<void(std::string_view)> write);

  void begin(const Section&) override {}
  void result(const Record& record, bool resumed) override;
  void end() override {}

 private:
  std::vector<std::string> axes_;
  bool metrics_ = false;  // whether there are columns for them
  std::function<void(std::string_view)> write_;
};

}  // namespace duet
