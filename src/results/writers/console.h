#pragma once

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "core/terminal.h"
#include "results/writers/axis_columns.h"
#include "results/writers/writer.h"

namespace duet {

enum class Detail {
  short_tables,  // when a section ends: one shortened table and a few lines of summary
  every_case     // a line for each case as soon as it is known, then all results that follow
};

class ConsoleWriter : public Writer {
 public:
  // `colour`: the stream is a terminal with colours.
  ConsoleWriter(std::ostream& out, bool colour, Detail detail)
      : out_(out), colour_(colour), detail_(detail) {}

  void begin(const Section& section) override;
  void result(const Record& record, bool resumed) override;
  void end() override;

 private:
  void show(const Record& record);
  void say(const Record& record, const char* code, const std::string& words);
  std::string warnings() const;
  std::string summaries() const;
  std::string summary(const std::string& benchmark) const;
  StyledText paint(const char* code, const std::string& text) const;

  std::ostream& out_;
  bool colour_;
  Detail detail_;
  bool first_ = true;
  std::string benchmark_;  // of the section
  AxisColumns axes_{{}};
  std::vector<Column> columns_;
  std::set<std::string> matrix_only_;  // keys of cases that appear only in a matrix
  std::vector<Record> results_;        // of the section, for the text below the table
};

}  // namespace duet
