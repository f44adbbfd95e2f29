#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "results/writers/writer.h"

namespace duet {

// Collectives in the columns of nccl-tests: for each collective and engine a table whose lines have
// the figures out of place and in place, "N/A" where there are none. What was not measured follows
// as comments.
class NcclTable : public Writer {
 public:
  explicit NcclTable(std::ostream& out) : out_(out) {}
  void begin(const Section& section) override;
  void result(const Record& record, bool resumed) override;
  void end() override;

 private:
  struct Line {
    std::string head;       // size, count, type, redop, root
    std::string bodies[2];  // out of place, in place
  };
  struct Table {
    std::string title;
    std::vector<Line> lines;
    std::vector<double> bus_gb_per_s;
    int wrong = 0;
  };
  Table& table_of(const std::string& title);

  std::ostream& out_;
  std::vector<Table> tables_;
  std::string skipped_;
};

}  // namespace duet
