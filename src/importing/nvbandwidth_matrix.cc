#include "importing/nvbandwidth_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/units.h"

namespace duet {
namespace {

constexpr const char* kTool = "nvbandwidth";
constexpr double kGigabyte = 1e9;

// A place of a copy, of a matrix whose rows are the host or devices and whose columns are devices.
enum class Place { host, row, column };

// The tests whose figures are those of a copy of Duet: one copy at a time, in one direction. Where
// data go follows from the test alone: the arrow in the description of device_to_device_memcpy_* is
// the other way round. A read test copies into the row's device by that device's context.
struct CopyTest {
  const char* stem;  // the name without "_ce" or "_sm"
  const char* kind;
  const char* issue;
  Place source, destination;
};
constexpr CopyTest kCopies[] = {
    {"host_to_device_memcpy", "host_to_device", "pull", Place::host, Place::column},
    {"device_to_host_memcpy", "device_to_host", "push", Place::column, Place::host},
    {"device_to_device_memcpy_read", "peer", "pull", Place::column, Place::row},
    {"device_to_device_memcpy_write", "peer", "push", Place::row, Place::column}};

const CopyTest* copy_test(const NvbandwidthMatrix& matrix) {
  if (!holds(matrix.description, "(GB/s)")) return nullptr;
  for (const CopyTest& one : kCopies) {
    for (const char* executor : {"_ce", "_sm"}) {
      if (matrix.test == std::string(one.stem) + executor) return &one;
    }
  }
  return nullptr;
}

std::string place_name(Place place, std::size_t row, std::size_t column) {
  if (place == Place::host) return "pinned";
  return fmt::format("cuda:{}", place == Place::row ? row : column);
}

Axes copy_axes(const NvbandwidthMatrix& matrix, const CopyTest& test, std::size_t row,
               std::size_t column, const ImportOptions& options) {
  Axes axes = {{"kind", std::string(test.kind)},
               {"executor", std::string(ends_with(matrix.test, "_ce") ? "dma" : "kernel")},
               {"issue", std::string(test.issue)},
               {"pattern", std::string("pair")}};
  if (options.bytes) axes.set("bytes", static_cast<std::int64_t>(*options.bytes));
  axes.set("source", place_name(test.source, row, column));
  axes.set("destination", place_name(test.destination, row, column));
  axes.set("bidirectional", false);
  return axes;
}

Axes own_axes(const NvbandwidthMatrix& matrix, std::size_t row, std::size_t column,
              const ImportOptions& options) {
  Axes axes = {{"test", matrix.test},
               {"row", static_cast<std::int64_t>(row)},
               {"column", static_cast<std::int64_t>(column)}};
  if (options.bytes) axes.set("bytes", static_cast<std::int64_t>(*options.bytes));
  return axes;
}

void set_figure(ForeignCase& one, const std::string& description, double figure,
                const ImportOptions& options) {
  if (holds(description, "(ns)")) {
    one.seconds = figure * 1e-9;
    return;
  }
  one.cost.wire_bytes = options.bytes ? static_cast<double>(*options.bytes) : kGigabyte;
  one.seconds = one.cost.wire_bytes / (figure * kGigabyte);
  if (!options.bytes) one.notes.emplace_back("seconds", "of 10^9 bytes: the size is not known");
}

ForeignCase without_figures(const std::string& test, const std::string& place) {
  ForeignCase one;
  one.place = place;
  one.benchmark = kTool;
  one.axes = {{"test", test}};
  return one;
}

// What is added up is not rounded, so that the sum differs by the rounding of all cells.
void check_sum(const NvbandwidthMatrix& matrix, const Printed& sum, const Printed& cells) {
  constexpr double kSlack = 1e-9;  // of the arithmetic here and there
  const double allowed = sum.half_unit + cells.half_unit + kSlack * sum.value;
  if (std::abs(sum.value - cells.value) <= allowed) return;
  throw UsageError(fmt::format(
      "the figures of {} add up to {:.7g}, but the output says {:.7g}: expected a whole "
      "matrix",
      matrix.test, cells.value, sum.value));
}

void check_matrix(const NvbandwidthMatrix& matrix) {
  if (matrix.rows.empty()) {
    throw UsageError(fmt::format("no figures of {}: expected a matrix of them", matrix.test));
  }
  Printed cells;
  for (const std::vector<std::string>& row : matrix.rows) {
    if (row.empty() || row.size() != matrix.rows[0].size()) {
      throw UsageError(
          fmt::format("the matrix of {} has rows of {} and {} figures: expected as many",
                      matrix.test, matrix.rows[0].size(), row.size()));
    }
    for (const std::string& cell : row) {
      const auto figure = printed_of(cell);
      if (!figure && cell != "N/A") {
        throw UsageError(fmt::format("expected a figure or N/A in the matrix of {}, here is '{}'",
                                     matrix.test, cell));
      }
      if (!figure) continue;
      cells.value += figure->value;
      cells.half_unit += figure->half_unit;
    }
  }
  if (matrix.sum) check_sum(matrix, *matrix.sum, cells);
}

}  // namespace

void take_matrix(ForeignRun& run, const NvbandwidthMatrix& matrix, const ImportOptions& options) {
  check_matrix(matrix);
  const CopyTest* test = copy_test(matrix);
  for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
    for (std::size_t column = 0; column < matrix.rows[row].size(); ++column) {
      const auto figure = amount_of(matrix.rows[row][column]);
      if (!figure || *figure == 0) continue;
      ForeignCase one;
      one.benchmark = test != nullptr ? "copy" : kTool;
      one.axes = test != nullptr ? copy_axes(matrix, *test, row, column, options)
                                 : own_axes(matrix, row, column, options);
      one.notes = {{"test", matrix.test}, {"figure", matrix.description}};
      one.place = matrix.places[row];
      set_figure(one, matrix.description, *figure, options);
      add_case(run, std::move(one));
    }
  }
}

void take_without_figures(ForeignRun& run, bool skipped, const std::string& test,
                          const std::string& reason, const std::string& place) {
  ForeignCase one = without_figures(test, place);
  (skipped ? one.skipped : one.failed) = reason;
  add_case(run, std::move(one));
}

ForeignRun nvbandwidth_run(const std::string& form) {
  ForeignRun run;
  run.tool = run.machine = kTool;
  run.form = form;
  run.kind = "cuda";
  return run;
}

ForeignDevice nvbandwidth_device(std::int64_t index, std::string text) {
  ForeignDevice device;
  device.name = fmt::format("cuda:{}", index);
  const std::size_t open = text.rfind(" (");
  const bool address = open != std::string::npos && text.back() == ')' && holds(text, ":");
  if (address) device.bus = text.substr(open + 2, text.size() - open - 3);
  device.model = trim(address ? text.substr(0, open) : text);
  return device;
}

void name_machine(ForeignRun& run) {
  if (!run.devices.empty()) run.machine = "cuda";
}

}  // namespace duet
