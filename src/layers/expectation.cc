#include "layers/cases.h"
#include "layers/workload.h"
#include "results/record_kind.h"

namespace duet {
namespace {

// Rows of a rank. With fewer a multiplication in parts may take longer than the whole one and the
// collective: with 512 rows on two H200 (docs/results/h200-2/layers) 10 of 48 ways took 1.12
// to 1.31 times as long.
constexpr double kFewRows = 1024;

}  // namespace

Expectation expect_layer(const Record& record, const Site& site) {
  Expectation expectation;
  const double alone = record.metrics.value("gemm_seconds");
  const double serial = record.metrics.value("serial_seconds");
  const auto rate = [&](double seconds) {
    return usual_rates(record.cost, seconds).front().second;
  };
  if (alone > 0) {
    expectation.bound = rate(alone);
    expectation.measured_bound = true;
  }
  if (record.id.engine != kPieces && record.id.engine != kFastest) {
    expectation.unknown =
        "a multiplication alone is what duet gemm measures, a collective what duet collective does";
  } else if (serial <= 0) {
    expectation.unknown = "the whole collective was not measured beside it";
  } else if (record.id.engine == kPieces &&
             axis_number(record.id, "m") < kFewRows * axis_number(record.id, "ranks")) {
    expectation.unknown =
        "few rows: parts of them may take longer than the collective (auto then takes another way)";
  } else if (site.spec == nullptr) {
    expectation.unknown = "ranks of a CPU share its cores and its memory";
  } else {
    expectation.expected = rate(serial);
    expectation.basis = "the whole collective of the vendor's library, measured by turns with it";
    expectation.advice =
        "the engine auto takes the fastest way; look at cut_seconds, which is what "
        "fewer rows at a time cost, and at first_wait_seconds and tail_seconds";
  }
  return expectation;
}

}  // namespace duet
