#include "history/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/plain_text.h"
#include "core/units.h"
#include "results/writers/csv.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

// The points of one figure on one device of one host, by time.
using Series = std::vector<HistoryPoint>;

auto figure_of(const HistoryPoint& point) {
  return std::tie(point.benchmark, point.model, point.device, point.host, point.engine,
                  point.case_text, point.rate);
}

std::vector<Series> series_of(const std::vector<HistoryPoint>& points) {
  std::vector<Series> all;
  for (const HistoryPoint& point : points) {
    if (all.empty() || figure_of(all.back().back()) != figure_of(point)) all.emplace_back();
    all.back().push_back(point);
  }
  return all;
}

// `count` of the first values.
double median_of(const Series& series, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(series[i].value);
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string change_of(const Series& series) {
  if (series.size() < 2) return "-";
  const double before = median_of(series, series.size() - 1);
  return before > 0 ? fmt::format("{:+.1f}%", 100 * (series.back().value / before - 1)) : "-";
}

std::string where(const HistoryPoint& point) {
  return one_line(fmt::format("{}{}{} on {}", point.device, point.model.empty() ? "" : ", ",
                              point.model, point.host.empty() ? "unknown host" : point.host));
}

std::string what(const HistoryPoint& point) {
  return one_line(fmt::format("{} {}, {}", point.benchmark, point.case_text, point.engine));
}

}  // namespace

std::string history_table(const std::vector<HistoryPoint>& points) {
  std::string text, place;
  std::vector<std::vector<std::string>> rows;
  const std::vector<Column> columns = {{"figure"},
                                       {"rate"},
                                       {"runs", Align::right},
                                       {"first", Align::right},
                                       {"median", Align::right},
                                       {"last", Align::right},
                                       {"change", Align::right}};
  const auto end_place = [&] {
    if (!rows.empty())
      text += (text.empty() ? "" : "\n") + place + '\n' + table(columns, rows, "  ");
    rows.clear();
  };
  for (const Series& series : series_of(points)) {
    const HistoryPoint& last = series.back();
    if (where(last) != place) end_place();
    place = where(last);
    rows.push_back({what(last), last.rate, std::to_string(series.size()),
                    format_rate(series.front().value),
                    format_rate(median_of(series, series.size())), format_rate(last.value),
                    change_of(series)});
  }
  end_place();
  return text;
}

std::string history_over_time(const std::vector<HistoryPoint>& points) {
  std::string text;
  for (const Series& series : series_of(points)) {
    const HistoryPoint& last = series.back();
    std::vector<std::vector<std::string>> rows;
    for (const HistoryPoint& point : series) {
      rows.push_back(
          {one_line(point.time_utc), one_line(point.revision), format_rate(point.value)});
    }
    text += fmt::format("{}{}\n{}\n", text.empty() ? "" : "\n", what(last), where(last));
    text += table({{"time"}, {"revision"}, {last.rate, Align::right}}, rows, "  ");
  }
  return text;
}

Json history_series(const std::vector<HistoryPoint>& points) {
  Json all = Json::array();
  for (const Series& series : series_of(points)) {
    const HistoryPoint& last = series.back();
    Json one = {{"benchmark", last.benchmark},
                {"engine", last.engine},
                {"case", last.case_text},
                {"rate", last.rate},
                {"device", last.device},
                {"model", last.model},
                {"host", last.host}};
    for (const HistoryPoint& point : series) {
      one["times"].push_back(point.time_utc);
      one["values"].push_back(point.value);
      one["revisions"].push_back(point.revision);
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::string history_csv(const std::vector<HistoryPoint>& points) {
  std::string text = csv_line({"time_utc", "host", "revision", "benchmark", "device", "model",
                               "engine", "case", "rate", "value"});
  for (const HistoryPoint& point : points) {
    text += csv_line({point.time_utc, point.host, point.revision, point.benchmark, point.device,
                      point.model, point.engine, point.case_text, point.rate,
                      fmt::format("{}", point.value)});
  }
  return text;
}

}  // namespace duet
