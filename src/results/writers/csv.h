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

class CsvWriter : public Writer {
 public:
  // The columns are stable: benchmark, device, engine, a column for each axis of the planned
  // sections in order of appearance, then outcome, times and rates. `write` takes whole lines.
  CsvWriter(const std::vector<Section>& planned, std::function<void(std::string_view)> write);

  void begin(const Section&) override {}
  void result(const Record& record, bool resumed) override;
  void end() override {}

 private:
  std::vector<std::string> axes_;
  std::function<void(std::string_view)> write_;
};

}  // namespace duet
