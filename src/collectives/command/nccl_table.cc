#include "collectives/command/nccl_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/plain_text.h"
#include "results/writers/axis_columns.h"

namespace duet {
namespace {

constexpr const char* kNothing = "      N/A     N/A     N/A     N/A";

// With as many digits as fit into the width, as nccl-tests does.
std::string fitting(double value, std::size_t width) {
  for (const int digits : {2, 1, 0}) {
    const std::string text = fmt::format("{:{}.{}f}", value, width, digits);
    if (text.size() <= width) return text;
  }
  return fmt::format("{:{}.{}e}", value, width, width >= 7 ? 1 : 0);
}

// nccl-tests' names of the element types.
std::string type_name(const std::string& type) {
  if (type == "fp32") return "float";
  if (type == "fp16") return "half";
  if (type == "bf16") return "bfloat16";
  return type;
}

std::string head_of(const Record& record) {
  const CaseId& id = record.id;
  const std::string count = record.notes.value("count", "0");
  return fmt::format("{:12}  {:>12}  {:>8}  {:>6}  {:6}", id.axes.number("bytes").value_or(0),
                     count, type_name(id.axes.text("type").value_or("")),
                     id.axes.text("op").value_or("none"), id.axes.number("root").value_or(-1));
}

std::string body_of(const Record& record) {
  const ByName<double>& rates = record.rates;
  const std::string wrong = record.verified ? fmt::format("{:6}", 0) : "   N/A";
  return fmt::format("  {}  {}  {}  {}", fitting(1e6 * record.seconds.median, 7),
                     fitting(rates.value("algbw_gb_per_s"), 6),
                     fitting(rates.value("busbw_gb_per_s"), 6), wrong);
}

}  // namespace

void NcclTable::begin(const Section& section) {
  tables_.clear();
  skipped_.clear();
  out_ << "# duet " << one_line(section.benchmark + " on " + section.machine);
  out_ << (section.hardware.empty() ? "" : " (" + one_line(section.hardware) + ")") << std::endl;
}

NcclTable::Table& NcclTable::table_of(const std::string& title) {
  const auto found = std::find_if(tables_.begin(), tables_.end(),
                                  [&](const Table& each) { return each.title == title; });
  if (found != tables_.end()) return *found;
  tables_.push_back({title, {}, {}, 0});
  return tables_.back();
}

void NcclTable::result(const Record& record, bool) {
  const Outcome outcome = record.outcome;
  if (outcome == Outcome::derived) return;
  const CaseId& id = record.id;
  if (outcome != Outcome::measured) {
    const char* what = outcome == Outcome::skipped ? "skipped"
                       : outcome == Outcome::wrong ? "WRONG"
                                                   : "failed";
    skipped_ += one_line(fmt::format("# {}: {}: {}", line_of(id), what, record.reason)) + '\n';
    if (outcome != Outcome::wrong) return;
  }
  std::string title =
      fmt::format("{}, engine {}, {} ranks", id.axes.text("collective").value_or(""), id.engine,
                  id.axes.number("ranks").value_or(0));
  for (const char* axis : {"layout", "packet", "nodes", "graph_launches"}) {
    const std::string cell = axis_cell(id, axis);
    if (!cell.empty()) title += fmt::format(", {} {}", axis, cell);
  }
  Table& table = table_of(title);
  if (outcome == Outcome::wrong) {
    ++table.wrong;
    return;
  }
  const std::string head = head_of(record);
  auto line = std::find_if(table.lines.begin(), table.lines.end(),
                           [&](const Line& each) { return each.head == head; });
  if (line == table.lines.end()) line = table.lines.insert(line, {head, {kNothing, kNothing}});
  line->bodies[id.axes.flag("in_place").value_or(false) ? 1 : 0] = body_of(record);
  table.bus_gb_per_s.push_back(record.rates.value("busbw_gb_per_s"));
}

void NcclTable::end() {
  for (const Table& table : tables_) {
    out_ << "#\n# " << one_line(table.title) << "\n";
    out_ << fmt::format(
        "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}           out-of-place                       "
        "in-place          \n",
        "", "", "", "", "");
    out_ << fmt::format(
        "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  "
        "{:>6}\n",
        "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
        "algbw", "busbw", "#wrong");
    out_ << fmt::format(
        "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  "
        "{:>6}\n",
        "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)",
        "");
    for (const Line& line : table.lines) {
      out_ << line.head << line.bodies[0] << line.bodies[1] << '\n';
    }
    const double sum = std::accumulate(table.bus_gb_per_s.begin(), table.bus_gb_per_s.end(), 0.0);
    const auto count = static_cast<double>(std::max<std::size_t>(1, table.bus_gb_per_s.size()));
    out_ << fmt::format("# {:<20} : {} {}\n", "Out of bounds values", table.wrong,
                        table.wrong > 0 ? "FAILED" : "OK");
    out_ << fmt::format("# {:<20} : {:g} \n", "Avg bus bandwidth", sum / count);
  }
  out_ << skipped_ << std::flush;
}

}  // namespace duet
