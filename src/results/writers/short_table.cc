#include "results/writers/short_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/units.h"
#include "results/rates.h"
#include "results/record_kind.h"
#include "results/writers/axis_columns.h"
#include "results/writers/pivot.h"
#include "results/writers/remarks.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kIndentOfTable = "  ";
constexpr std::size_t kMostSizes = 6;         // columns of figures
constexpr const char* kBoundEngine = "none";  // leaves out a part of the work
constexpr std::size_t kShortestCell = 10;     // longer cells may be cut, down to this width

struct Figure {
  CaseId id;
  const Record* record;
  std::string unit;
  double value;
  std::string text;
};

// The first rate, or the fraction of the ideal of an overlap. nullopt if the case was not measured.
std::optional<Figure> figure_of(const Record& record) {
  if (record.outcome != Outcome::measured) return std::nullopt;
  if (!record.rates.empty()) {
    const auto& [rate, value] = record.rates.front();
    return Figure{record.id, &record, rate_heading(rate), value,
                  rate_text(rate, value) + doubt_mark(record)};
  }
  const double* fraction = record.metrics.find("fraction_of_ideal");
  if (fraction == nullptr) return Figure{record.id, &record, "", 0, ""};
  const double hundredths = std::round(100 * *fraction);
  const double value = hundredths == 0 ? 0 : hundredths / 100;  // no "-0.00"
  return Figure{record.id, &record, "fraction of ideal", value,
                fmt::format("{:.2f}", value) + doubt_mark(record)};
}

// The indices of `most` lines out of `count`, evenly spread.
std::vector<std::size_t> spread(std::size_t count, std::size_t most) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < std::min(count, most); ++i) {
    places.push_back(count <= most || most < 2 ? i : i * (count - 1) / (most - 1));
  }
  return places;
}

bool is_word(const AxisValue& value) { return std::holds_alternative<std::string>(value); }

// The ids of the table's lines: without the axes that are columns, without labels, and without
// words that the scenario implies (its model and its shapes).
std::vector<CaseId> line_ids(std::vector<CaseId> ids, const Words& beside) {
  const auto drop = [&](const std::string& axis) {
    for (CaseId& id : ids) id.axes = id.axes.without({axis});
  };
  const bool policies = std::find(beside.begin(), beside.end(), "policy") != beside.end();
  for (const std::string& axis : beside) drop(axis);
  const bool engines = std::find(beside.begin(), beside.end(), "engine") != beside.end();
  if (engines || policies) {
    for (CaseId& id : ids) id.engine.clear();
  }
  if (policies) drop("bytes");  // the scenario's
  Words labels;
  std::map<std::string, std::map<std::string, std::string>> by_scenario;  // axis, scenario: value
  Words implied;
  for (const CaseId& id : ids) {
    const std::string scenario = axis_cell(id, "scenario");
    for (const auto& [name, value] : id.axes) {
      if (is_label(value)) index_of(labels, name);
      if (!is_word(value) || scenario.empty() || name == "scenario") continue;
      index_of(implied, name);
      by_scenario[name].emplace(scenario, axis_text(value));
    }
  }
  for (const CaseId& id : ids) {
    const std::string scenario = axis_cell(id, "scenario");
    for (const auto& [name, value] : id.axes) {
      if (!is_word(value) || scenario.empty() || name == "scenario") continue;
      if (by_scenario[name][scenario] == axis_text(value)) continue;
      implied.erase(std::remove(implied.begin(), implied.end(), name), implied.end());
    }
  }
  for (const std::string& name : labels) drop(name);
  for (const std::string& name : implied) drop(name);
  return ids;
}

// A column's heading as lines: "priority+", "partition".
Words heading_of(const CaseId& id, const Words& beside) {
  Words lines;
  for (const std::string& axis : beside) {
    std::string cell = axis_cell(id, axis);
    if (axis == "in_place") cell = cell == "yes" ? "in place" : "out";
    const std::size_t plus = cell.find('+');
    lines.push_back(cell.substr(0, plus == std::string::npos ? plus : plus + 1));
    if (plus != std::string::npos) lines.push_back(cell.substr(plus + 1));
  }
  return lines;
}

struct Layout {
  std::string text;
  std::size_t width = 0;
  std::size_t columns = 0;      // columns of figures that are shown
  std::size_t all_columns = 0;  // columns of figures in all
  std::size_t lines = 0;        // lines in all
  std::size_t shown = 0;        // lines that are shown
};

// The table; if it is too wide, its longest words are cut.
std::string fitting_table(const std::vector<Column>& columns, std::vector<Words> rows) {
  std::string text = table(columns, rows, kIndentOfTable);
  while (width_of(text) > kShortWidth) {
    std::string* longest = nullptr;
    for (Words& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (columns[i].align == Align::right) continue;
        if (longest == nullptr || row[i].size() > longest->size()) longest = &row[i];
      }
    }
    if (longest == nullptr || longest->size() <= kShortestCell) return text;
    *longest = longest->substr(0, longest->size() - 3) + "..";
    text = table(columns, rows, kIndentOfTable);
  }
  return text;
}

// A line for each case, with its time, its rate and its confidence interval.
Layout plain(const std::vector<Figure>& figures) {
  std::vector<CaseId> ids;
  for (const Figure& each : figures) ids.push_back(each.id);
  ids = line_ids(ids, {});
  const AxisColumns axes(ids);
  std::vector<Column> columns = axes.columns();
  columns.insert(columns.end(),
                 {{"median", Align::right}, {"rate", Align::right}, {"+-", Align::right}});
  std::vector<Words> rows;
  for (const std::size_t i : spread(ids.size(), kShortRows)) {
    Words cells = axes.cells(ids[i]);
    const Record& record = *figures[i].record;
    cells.push_back(format_seconds(record.seconds.median));
    cells.push_back(main_rate(record) + doubt_mark(record));
    cells.push_back(interval_text(record.seconds));
    rows.push_back(std::move(cells));
  }
  const std::string text = fitting_table(columns, rows);
  return {text, width_of(text), 1, 1, ids.size(), rows.size()};
}

// Figures by line and column.
class Grid {
 public:
  Grid(const std::vector<Figure>& figures, const Words& beside) {
    std::vector<CaseId> ids;
    for (const Figure& each : figures) ids.push_back(each.id);
    ids = line_ids(ids, beside);
    Words keys, headings;
    for (std::size_t i = 0; i < figures.size(); ++i) {
      const std::size_t row = index_of(keys, case_key(ids[i]));
      if (row == lines_.size()) lines_.push_back(ids[i]);
      const Words heading = heading_of(figures[i].id, beside);
      const std::size_t column = index_of(headings, fmt::format("{}", fmt::join(heading, "\n")));
      if (column == headings_.size()) headings_.push_back(heading);
      cells_[{row, column}] = &figures[i];
    }
  }

  // As many columns of figures as fit, but two if no more fit. With `marks_best` all columns, even
  // if they do not fit.
  Layout layout(bool marks_best) const {
    const std::size_t all = headings_.size();
    Layout fitting;
    for (std::size_t most = marks_best ? all : std::min(all, kMostSizes); most > 1; --most) {
      fitting = layout(marks_best, spread(all, most));
      if (marks_best || fitting.width <= kShortWidth) break;
    }
    return fitting;
  }

 private:
  Layout layout(bool marks_best, const std::vector<std::size_t>& shown) const {
    const AxisColumns axes(lines_);
    std::vector<Column> columns = axes.columns();
    std::size_t head_lines = 1;
    for (const std::size_t c : shown) {
      columns.push_back({headings_[c].front() + (marks_best ? " " : ""), Align::right});
      head_lines = std::max(head_lines, headings_[c].size());
    }
    std::vector<Words> rows;
    for (std::size_t line = 1; line < head_lines; ++line) {
      rows.emplace_back(axes.columns().size());
      for (const std::size_t c : shown) {
        const bool there = line < headings_[c].size();
        rows.back().push_back(there ? headings_[c][line] + (marks_best ? " " : "") : "");
      }
    }
    const std::vector<std::size_t> places = spread(lines_.size(), kShortRows);
    for (const std::size_t row : places) rows.push_back(cells(axes, row, shown, marks_best));
    const std::string text = table(columns, rows, kIndentOfTable);
    return {text, width_of(text), shown.size(), headings_.size(), lines_.size(), places.size()};
  }

  Words cells(const AxisColumns& axes, std::size_t row, const std::vector<std::size_t>& shown,
              bool marks_best) const {
    const Figure* best = nullptr;
    for (const std::size_t c : shown) {
      const auto found = cells_.find({row, c});
      if (found == cells_.end() || found->second->id.engine == kBoundEngine) continue;
      if (best == nullptr || found->second->value > best->value) best = found->second;
    }
    Words cells = axes.cells(lines_[row]);
    for (const std::size_t c : shown) {
      const auto found = cells_.find({row, c});
      const bool there = found != cells_.end();
      std::string cell = there ? found->second->text : "-";
      if (marks_best) cell += there && found->second == best ? "*" : " ";
      cells.push_back(cell);
    }
    return cells;
  }

  std::vector<CaseId> lines_;
  std::vector<Words> headings_;
  std::map<std::pair<std::size_t, std::size_t>, const Figure*> cells_;
};

Layout chosen(const TableForm& form, const std::vector<Figure>& figures) {
  const Layout lines = plain(figures);
  const bool best = form.marks_best;
  if (form.few_as_lines && lines.lines <= kShortRows && lines.width <= kShortWidth) return lines;
  for (const Words& beside : form.beside) {
    Layout grid = Grid(figures, beside).layout(best);
    if (grid.columns < 2 || grid.width > kShortWidth) continue;
    grid.text =
        fmt::format("  {}{}\n", figures.front().unit, best ? " (* the best of a line)" : "") +
        grid.text;
    return grid;
  }
  return lines;
}

// False for the parts of a policy's sweep, which the sweep's own line sums up, and for records that
// get lines below the table.
bool in_table(const std::string& benchmark, const CaseId& id, bool swept) {
  if (record_kind(benchmark).table.alone) return id.benchmark == benchmark;
  return !swept || axis_cell(id, "policy").find(':') == std::string::npos;
}

// Lines for peaks and results of searches: "gemm_peak fp32: 0.504 TFLOP/s (fma-peak)".
std::string other_lines(const std::vector<Figure>& others) {
  std::string text;
  for (const Figure& each : others) {
    text += fmt::format("  {} {}: {} {} ({})", each.id.benchmark, case_text(each.id), each.text,
                        each.unit, each.id.engine);
    if (const std::string* shape = each.record->notes.find("shape")) text += " by " + *shape;
    text += '\n';
  }
  return text;
}

// A line for each matrix with its slowest and its fastest pair.
std::string pair_lines(const std::vector<Figure>& pairs) {
  std::map<std::string, std::vector<const Figure*>> groups;
  for (const Figure& each : pairs) {
    CaseId id = each.id;
    id.axes = id.axes.without({"source", "destination"});
    groups[case_text(id)].push_back(&each);
  }
  std::string text;
  for (const auto& [name, group] : groups) {
    const auto slower = [](const Figure* a, const Figure* b) { return a->value < b->value; };
    const auto [low, high] = std::minmax_element(group.begin(), group.end(), slower);
    text += fmt::format("  {} pairs, {}: {} ({}) to {} {}\n", group.size(), name, (*low)->text,
                        axis_cell((*low)->id, "path"), (*high)->text, (*high)->unit);
  }
  return text;
}

}  // namespace

std::string short_table(const std::string& benchmark, const std::vector<Record>& results) {
  std::vector<CaseId> planned;
  for (const Record& record : results) {
    if (record.outcome != Outcome::derived) planned.push_back(record.id);
  }
  const std::set<std::string> of_matrix = matrix_only(planned);
  const auto is_whole_sweep = [](const CaseId& id) {
    return axis_cell(id, "policy") == "partition";
  };
  const bool swept = std::any_of(planned.begin(), planned.end(), is_whole_sweep);
  std::vector<Figure> figures, others, pairs;
  std::size_t parts = 0;
  for (const Record& record : results) {
    const std::optional<Figure> figure = figure_of(record);
    if (!figure) continue;
    if (of_matrix.count(case_key(figure->id)) > 0) {
      pairs.push_back(*figure);
    } else if (in_table(benchmark, figure->id, swept)) {
      figures.push_back(*figure);
    } else if (figure->id.benchmark == benchmark) {
      ++parts;
    } else {
      others.push_back(*figure);
    }
  }
  std::string text = "\n";
  std::string left_out;
  const auto leave_out = [&](const std::string& what) {
    left_out += (left_out.empty() ? "" : ", ") + what;
  };
  if (!figures.empty()) {
    const Layout layout = chosen(record_kind(benchmark).table, figures);
    text += layout.text;
    if (layout.shown < layout.lines) {
      leave_out(fmt::format("{} of {} lines", layout.shown, layout.lines));
    }
    if (layout.columns < layout.all_columns) {
      leave_out(fmt::format("{} of {} sizes", layout.columns, layout.all_columns));
    }
  }
  if (parts > 0) leave_out(fmt::format("{} parts of sweeps left out", parts));
  if (!left_out.empty()) {
    text += fmt::format("  {}; all: --verbose, --csv FILE or --report\n", left_out);
  }
  text += other_lines(others);
  if (!pairs.empty())
    text += pair_lines(pairs) + "  the matrix of all pairs: --verbose or --report\n";
  return text == "\n" ? "" : text;
}

}  // namespace duet
