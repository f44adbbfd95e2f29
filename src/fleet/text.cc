#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "core/plain_text.h"
#include "fleet/report.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

std::string percent_of(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string counted(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string differences_text(const FleetReport& report, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, report.differences.size()); ++i) {
    const SettingDifference& one = report.differences[i];
    std::string values;
    for (std::size_t k = 0; k < std::min<std::size_t>(3, one.values.size()); ++k) {
      values += (k > 0 ? "; " : "") + one.values[k].first + " " + one.values[k].second;
    }
    if (one.values.size() > 3) values += fmt::format("; {} more", one.values.size() - 3);
    text += fmt::format("  {}: slow are {} of {} nodes with it, {} of {} without\n",
                        one_line(values), one.slow_with, one.with, one.slow_without, one.without);
  }
  return text.empty() ? "" : "Settings that go with slow nodes:\n" + text;
}

// Settings that a suspected node alone has.
std::string own_text(const FleetReport& report, std::size_t most) {
  std::vector<Settings> settings;
  for (const FleetNode& node : report.input.nodes) settings.push_back(node.settings);
  std::string text;
  std::size_t lines = 0;
  for (const FleetSuspect& one : report.judgement.suspects) {
    if (one.level != FleetLevel::node) continue;
    for (const OwnSetting& own : own_settings(settings, one.item)) {
      if (++lines > most) break;
      text += fmt::format("  {}: {} {}, elsewhere {}\n", place_text(one, report),
                          one_line(own.name), one_line(own.value), one_line(own.common));
    }
  }
  return text.empty() ? "" : "Settings that one slow node alone has:\n" + text;
}

std::string missing_text(const FleetReport& report, std::size_t most) {
  if (report.missing.empty()) return "";
  std::string text = "Missing: ";
  for (std::size_t i = 0; i < std::min(most, report.missing.size()); ++i) {
    text += (i > 0 ? ", " : "") + one_line(report.missing[i]);
  }
  if (report.missing.size() > most) {
    text += fmt::format(" and {} more", report.missing.size() - most);
  }
  return text + '\n';
}

std::string fault_line(const FleetNode& node) {
  std::string text;
  if (!node.failed.empty()) {
    const FailedCase& first = node.failed.front();
    text += fmt::format("; {} failed or left wrong data, {}: {}: {}",
                        counted(node.failed.size(), "case", "cases"), first.text, first.outcome,
                        first.reason);
  }
  if (node.lacking > 0) {
    text += fmt::format("; lacks {} that others have, such as {}",
                        counted(static_cast<std::size_t>(node.lacking), "figure", "figures"),
                        node.lacked);
    if (!node.skipped.empty()) text += fmt::format(" (skipped: {})", node.skipped);
  }
  if (!node.incomplete.empty()) {
    text += fmt::format("; a run did not reach its end: {}", node.incomplete.front());
  }
  return text.substr(2);
}

std::string faults_text(const FleetReport& report, std::size_t most) {
  const FleetInput& input = report.input;
  std::string text;
  std::size_t lines = 0;
  for (std::size_t i = 0; i < input.nodes.size(); ++i) {
    if (!has_fault(input.nodes[i]) || ++lines > most) continue;
    text +=
        fmt::format("  {}: {}\n", input.samples.nodes()[i], one_line(fault_line(input.nodes[i])));
  }
  for (const BrokenJournal& one : input.broken) {
    if (++lines <= most) text += fmt::format("  {}\n", one_line(one.reason));
  }
  if (lines > most) text += fmt::format("  and {} more (duet fleet --all)\n", lines - most);
  return text.empty() ? "" : "Failed or incomplete:\n" + text;
}

struct ComparedKind {
  std::size_t figures = 0, judged = 0;
  int samples = 0, nodes = 0;
  std::vector<double> spreads;
};

std::string compared_text(const FleetReport& report) {
  std::map<std::string, ComparedKind> kinds;
  const auto& figures = report.input.samples.figures();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const FigurePeers& peers = report.judgement.figures[i];
    ComparedKind& kind = kinds[figures[i].kind];
    ++kind.figures;
    kind.samples += peers.samples;
    kind.nodes = std::max(kind.nodes, peers.nodes);
    if (!peers.judged) continue;
    ++kind.judged;
    kind.spreads.push_back(peers.spread);
  }
  std::vector<std::vector<std::string>> rows;
  for (auto& [name, kind] : kinds) {
    std::sort(kind.spreads.begin(), kind.spreads.end());
    const bool known = !kind.spreads.empty();
    rows.push_back({one_line(name), fmt::format("{} of {}", kind.judged, kind.figures),
                    std::to_string(kind.nodes), std::to_string(kind.samples),
                    known ? percent_of(kind.spreads[kind.spreads.size() / 2]) : "-"});
  }
  return "Compared:\n" + table({{"figures", Align::left},
                                {"judged", Align::right},
                                {"nodes", Align::right},
                                {"samples", Align::right},
                                {"usual deviation", Align::right}},
                               rows, "  ");
}

}  // namespace

std::string suspects_table(const FleetReport& report, std::size_t most) {
  const auto& suspects = report.judgement.suspects;
  if (suspects.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < std::min(most, suspects.size()); ++i) {
    const FleetSuspect& one = suspects[i];
    rows.push_back({one_line(place_text(one, report)), "-" + percent_of(one.evidence.front().loss),
                    name(one.sureness), one_line(evidence_text(one)),
                    one_line(next_command(one, report))});
  }
  std::string text = table({{"place", Align::left},
                            {"rate", Align::right},
                            {"how sure", Align::left},
                            {"slow in figures", Align::left},
                            {"what to run next", Align::left}},
                           rows, "  ");
  if (suspects.size() > most) {
    text += fmt::format("  and {} more suspects (duet fleet --all)\n", suspects.size() - most);
  }
  return "Slower than their peers:\n" + text;
}

std::string evidence_text(const FleetSuspect& suspect) {
  std::string text;
  bool follows = false;
  for (const FleetEvidence& one : suspect.evidence) {
    if (!text.empty()) text += one.follows && !follows ? "; follows: " : ", ";
    follows = follows || one.follows;
    text += fmt::format("{} {} of {}", one.kind, one.slow, one.figures);
  }
  return text;
}

std::string fleet_line(const FleetReport& report) {
  const FleetInput& input = report.input;
  std::vector<std::string> found;
  const auto add = [&](std::size_t count, const char* one, const char* many) {
    if (count > 0) found.push_back(counted(count, one, many));
  };
  add(report.judgement.suspects.size(), "suspect", "suspects");
  add(report.missing.size(), "missing node", "missing nodes");
  const auto faults = std::count_if(input.nodes.begin(), input.nodes.end(), has_fault);
  add(static_cast<std::size_t>(faults), "node with failed or incomplete cases",
      "nodes with failed or incomplete cases");
  add(input.broken.size(), "journal that cannot be read", "journals that cannot be read");
  std::string text = fmt::format("duet fleet: {}: {}: ", found.empty() ? "OK" : "FAIL",
                                 counted(input.nodes.size(), "node", "nodes"));
  for (std::size_t i = 0; i < found.size(); ++i) text += (i > 0 ? ", " : "") + found[i];
  if (found.empty()) {
    text += fmt::format("nothing unlike in {} figures", judged_figures(report));
  }
  return text;
}

std::string fleet_text(const FleetReport& report, std::size_t most) {
  std::string text = fleet_line(report) + "\n";
  for (const std::string& part :
       {suspects_table(report, most), differences_text(report, most), own_text(report, most),
        missing_text(report, most), faults_text(report, most), compared_text(report)}) {
    if (!part.empty()) text += '\n' + part;
  }
  return text;
}

}  // namespace duet
