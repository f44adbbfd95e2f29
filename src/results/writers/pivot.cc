#include "results/writers/pivot.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/units.h"
#include "results/rates.h"
#include "results/writers/axis_columns.h"

namespace duet {
namespace {

struct Result {
  CaseId id;
  std::string rate;             // name of the first rate, "" if there is none
  std::optional<double> value;  // nullopt: the case was skipped or failed
};

std::vector<Result> results_of(const std::vector<Record>& records) {
  std::vector<Result> results;
  for (const Record& record : records) {
    if (record.outcome == Outcome::derived) continue;
    Result result{record.id, "", std::nullopt};
    if (record.outcome == Outcome::measured && !record.rates.empty()) {
      std::tie(result.rate, result.value) = record.rates.front();
    }
    results.push_back(result);
  }
  return results;
}

std::string rate_of(const std::vector<Result>& results) {
  for (const Result& result : results) {
    if (!result.rate.empty()) return result.rate;
  }
  return "";
}

std::string text_of(const Result& result) {
  return result.value ? rate_text(result.rate, *result.value) : "-";
}

std::int64_t bytes_of(const CaseId& id) { return id.axes.number("bytes").value_or(0); }

bool is_pair(const CaseId& id) {
  return id.axes.text("kind") == "peer" && id.axes.text("pattern") == "pair";
}

// The axes that the pairs of a matrix share, for its title, without the size.
std::string group_of(const CaseId& id) {
  std::string text;
  for (const auto& [key, value] : id.axes.without({"source", "destination", "bytes", "pattern"})) {
    std::string word = axis_text(value);
    if (word.empty() || word == "0" || word == "false") continue;
    if (word == "true") word = key;
    const bool number = std::holds_alternative<std::int64_t>(value);
    text += ", " + (number ? key + " " + word : word);
  }
  return text;
}

std::string matrix(const std::string& title, const std::vector<Result>& cells) {
  std::vector<std::string> ends;
  for (const Result& cell : cells) index_of(ends, axis_cell(cell.id, "source"));
  for (const Result& cell : cells) index_of(ends, axis_cell(cell.id, "destination"));
  // Numeric order of device numbers: the shorter text is the smaller number.
  std::sort(ends.begin(), ends.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  std::vector<Column> columns = {{"from \\ to"}};
  std::vector<std::vector<std::string>> rows;
  for (const std::string& end : ends) {
    columns.push_back({end, Align::right, 5});
    rows.push_back({end});
    rows.back().resize(ends.size() + 1);
  }
  for (const Result& cell : cells) {
    const std::size_t row = index_of(ends, axis_cell(cell.id, "source"));
    rows[row][index_of(ends, axis_cell(cell.id, "destination")) + 1] = text_of(cell);
  }
  return "\n  " + title + "\n" + table(columns, rows, "  ");
}

using Size = std::pair<const std::int64_t, std::vector<Result>>;
bool fewer_pairs(const Size& a, const Size& b) { return a.second.size() < b.second.size(); }

}  // namespace

std::size_t index_of(std::vector<std::string>& list, const std::string& text) {
  const auto found = std::find(list.begin(), list.end(), text);
  const auto place = static_cast<std::size_t>(found - list.begin());
  if (found == list.end()) list.push_back(text);
  return place;
}

std::string pair_matrices(const std::vector<Record>& records) {
  std::vector<std::string> groups;
  std::vector<std::map<std::int64_t, std::vector<Result>>> by_size;
  const std::vector<Result> results = results_of(records);
  for (const Result& result : results) {
    if (!is_pair(result.id)) continue;
    const std::size_t group = index_of(groups, group_of(result.id));
    by_size.resize(groups.size());
    const std::int64_t bytes = bytes_of(result.id);
    by_size[group][bytes].push_back(result);
  }
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    // The size that has the most pairs, the largest of several.
    const auto most = std::max_element(by_size[i].rbegin(), by_size[i].rend(), fewer_pairs);
    const auto& [bytes, cells] = *most;
    if (cells.size() < 2) continue;
    const std::string size = format_bytes(static_cast<std::uint64_t>(bytes));
    text += matrix(rate_heading(rate_of(results)) + " at " + size + groups[i], cells);
  }
  return text;
}

std::set<std::string> matrix_only(const std::vector<CaseId>& cases) {
  const auto group = [](const CaseId& id) { return id.engine + group_of(id); };
  const auto path = [&](const CaseId& id) { return group(id) + " " + axis_cell(id, "path"); };
  const auto size = [&](const CaseId& id) {
    return group(id) + " " + std::to_string(bytes_of(id));
  };
  std::map<std::string, int> sizes_of, pairs_at;
  for (const CaseId& id : cases) {
    if (!is_pair(id)) continue;
    ++sizes_of[path(id)];
    ++pairs_at[size(id)];
  }
  std::set<std::string> keys;
  for (const CaseId& id : cases) {
    if (is_pair(id) && sizes_of[path(id)] == 1 && pairs_at[size(id)] > 2) keys.insert(case_key(id));
  }
  return keys;
}

}  // namespace duet
