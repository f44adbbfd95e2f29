// Results as tables for people: a heading a benchmark, a line a case as soon as it is known, and
// what can be said across cases below.
#pragma once

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "results/writers/axis_columns.h"
#include "results/writers/writer.h"

namespace duet {

class ConsoleWriter : public Writer {
 public:
  // `colour`: the stream is a terminal.
  ConsoleWriter(std::ostream& out, bool colour) : out_(out), colour_(colour) {}

  void begin(const Section& section) override;
  void result(const Record& record, bool resumed) override;
  void end() override;

 private:
  void say(const Record& record, const char* code, const std::string& words);
  std::string warnings() const;
  std::string summaries() const;
  std::string summary(const std::string& benchmark) const;
  std::string paint(const char* code, const std::string& text) const;

  std::ostream& out_;
  bool colour_;
  bool first_ = true;
  bool collectives_ = false;  // the section is of collectives
  AxisColumns axes_{{}};
  std::vector<Column> columns_;
  std::set<std::string> matrix_only_;  // keys of cases that have no line of their own
  std::vector<Record> results_;        // of the section, for what is said below the table
};

}  // namespace duet
