// Comma-separated values as in RFC 4180, but with line feeds alone.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "results/writers/writer.h"

namespace duet {

// The first columns of every table. OutputFile::replace() recognises Duet's tables by them.
inline constexpr const char* kCsvHead = "benchmark,device,engine,";

// A line with its line feed; cells are quoted where RFC 4180 requires it. At least one cell.
std::string csv_line(const std::vector<std::string>& cells);
// Appends the case's axes that the list lacks.
void add_axes(std::vector<std::string>& axes, const CaseId& id);
// The cells for benchmark, device, engine and each axis; "" for an axis that the case does not
// have.
std::vector<std::string> csv_case(const std::vector<std::string>& axes, const CaseId& id);

// Writes a line for each case.
class CsvWriter : public Writer {
 public:
  // The columns do not change during a run, and each has a name of its own: benchmark, device,
  // engine, the axes of the planned cases in order of appearance, then outcome, times and the
  // figures of the planned benchmarks (RecordKind::figures). `write` receives whole lines.
  CsvWriter(const std::vector<Section>& planned, std::function<void(std::string_view)> write);

  void begin(const Section&) override {}
  void result(const Record& record, bool resumed) override;
  void end() override {}

 private:
  std::vector<std::string> axes_;
  std::vector<std::string> figures_;  // rates and metrics
  std::function<void(std::string_view)> write_;
};

}  // namespace duet
