// The end of `duet health`: whether a node is in order, in one line.
#pragma once

#include <string>
#include <vector>

#include "health/checks.h"
#include "results/writers/writer.h"
#include "verdict/verdict.h"

namespace duet {

// A measured case and its verdict.
struct Figure {
  CaseId id;
  Verdict verdict;
};

// A case that left wrong data, failed, or could not be measured.
struct Miss {
  CaseId id;
  Outcome outcome = Outcome::failed;
  std::string reason;
};

// Keeps a run's records, and judges them when all are there.
class Figures : public Writer {
 public:
  explicit Figures(const Environment& environment) { evaluator_.see(environment); }

  void begin(const Section&) override {}
  void result(const Record& record, bool resumed) override;
  void end() override {}

  const std::vector<Record>& records() const { return records_; }
  // Is the record's verdict LOW or SUSPECT-HIGH, by the records seen so far?
  bool doubtful(const Record& record) const;
  std::vector<Figure> judged() const;
  std::vector<Miss> missed() const;

 private:
  Evaluator evaluator_;
  std::vector<Record> records_;
};

struct HealthReport {
  std::string host;
  std::vector<Check> checks;
  std::vector<Figure> figures;
  std::vector<Miss> missed;
  double seconds = 0;   // that all of it took
  std::string load;     // of other programs during the measurements, if it was high: load_text()
  std::string stopped;  // why the run was given up, a fault of the node; "": it was not
  bool interrupted = false;  // by the user: what was not measured is not known
};

// What is wrong, most important first: failed checks, wrong and failed cases, doubtful figures.
std::vector<std::string> faults(const HealthReport& report);

// "duet health: OK node7: ...", "duet health: FAIL node7: ..." or, where a run that found no fault
// was interrupted, "duet health: STOPPED node7: ...", without a newline. At most `most` faults are
// named.
std::string one_line_of(const HealthReport& report, std::size_t most = 3);

// A line for each check, figure and miss.
std::string lines_of(const HealthReport& report);

// The first bytes of every such text. Only files that begin so are replaced.
extern const char* const kPrometheusHead;

// The report in Prometheus' text format, for node_exporter's textfile collector. `unix_seconds` is
// when the report was made.
std::string prometheus_text(const HealthReport& report, double unix_seconds);

}  // namespace duet
