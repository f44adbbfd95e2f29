#include <cmath>
#include <nlohmann/json.hpp>

#include "core/names.h"
#include "fleet/report.h"
#include "results/version.h"

namespace duet {
namespace {

constexpr NamedValue<FleetLevel> kLevelNames[] = {
    {FleetLevel::group, "group"},         {FleetLevel::node, "node"},
    {FleetLevel::unit, "unit"},           {FleetLevel::unit_out, "source"},
    {FleetLevel::unit_in, "destination"}, {FleetLevel::link, "link"},
    {FleetLevel::direction, "direction"}};

Json evidence_json(const FleetEvidence& one, const FleetReport& report) {
  return {{"figures", one.kind},
          {"slow", one.slow},
          {"of", one.figures},
          {"loss", one.loss},
          {"most_loss", one.most_loss},
          {"slowest", report.input.samples.figures()[static_cast<std::size_t>(one.slowest)].text},
          {"follows", one.follows}};
}

Json suspect_json(const FleetSuspect& one, const FleetReport& report) {
  Json json = {{"place", place_text(one, report)},
               {"level", name_of(kLevelNames, one.level)},
               {"nodes", Json::array()},
               {"how_sure", name(one.sureness)},
               {"chance", one.chance}};
  for (const int node : nodes_of(one, report.input.samples, report.groups)) {
    json["nodes"].push_back(report.input.samples.nodes()[static_cast<std::size_t>(node)]);
  }
  for (const FleetEvidence& each : one.evidence) {
    json["evidence"].push_back(evidence_json(each, report));
  }
  json["next"] = next_command(one, report);
  return json;
}

Json difference_json(const SettingDifference& one) {
  Json json = {{"values", Json::object()}, {"slow_with", one.slow_with},
               {"with", one.with},         {"slow_without", one.slow_without},
               {"without", one.without},   {"chance", one.chance}};
  for (const auto& [name, value] : one.values) json["values"][name] = value;
  return json;
}

Json fault_json(const std::string& name, const FleetNode& node) {
  Json json = {{"node", name}, {"failed", Json::array()}, {"incomplete", node.incomplete}};
  for (const FailedCase& one : node.failed) {
    json["failed"].push_back(
        {{"case", one.text}, {"outcome", one.outcome}, {"reason", one.reason}});
  }
  json["lacking"] = node.lacking;
  if (node.lacking > 0) json["lacked"] = node.lacked;
  return json;
}

Json figure_json(const FleetFigure& figure, const FigurePeers& peers) {
  Json json = {{"kind", figure.kind},  {"case", figure.text},      {"rate", figure.rate},
               {"nodes", peers.nodes}, {"samples", peers.samples}, {"judged", peers.judged}};
  const bool seconds = figure.rate.empty();
  if (peers.samples > 0) {
    json[seconds ? "median_seconds" : "median"] = std::exp(seconds ? -peers.middle : peers.middle);
  }
  if (peers.judged) json["deviation"] = peers.spread;
  return json;
}

}  // namespace

Json fleet_json(const FleetReport& report) {
  const FleetInput& input = report.input;
  Json json = {{"duet", version()},
               {"revision", revision()},
               {"nodes", input.samples.nodes()},
               {"journals", input.journals},
               {"findings", findings(report)}};
  for (const char* list : {"suspects", "settings", "missing", "faults", "unreadable", "figures"}) {
    json[list] = Json::array();
  }
  for (const FleetSuspect& one : report.judgement.suspects) {
    json["suspects"].push_back(suspect_json(one, report));
  }
  for (const SettingDifference& one : report.differences) {
    json["settings"].push_back(difference_json(one));
  }
  json["missing"] = report.missing;
  for (std::size_t i = 0; i < input.nodes.size(); ++i) {
    if (!has_fault(input.nodes[i])) continue;
    json["faults"].push_back(fault_json(input.samples.nodes()[i], input.nodes[i]));
  }
  for (const BrokenJournal& one : input.broken) {
    json["unreadable"].push_back({{"journal", one.path}, {"reason", one.reason}});
  }
  for (std::size_t i = 0; i < input.samples.figures().size(); ++i) {
    json["figures"].push_back(figure_json(input.samples.figures()[i], report.judgement.figures[i]));
  }
  return json;
}

}  // namespace duet
