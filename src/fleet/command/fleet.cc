// `duet fleet`: which node of many is unlike the others.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/flag_values.h"
#include "cli/outputs.h"
#include "core/error.h"
#include "core/names.h"
#include "core/output_file.h"
#include "core/prometheus_text.h"
#include "fleet/names.h"
#include "fleet/report.h"
#include "fleet/rounds.h"
#include "report/report.h"

namespace duet {
namespace {

constexpr std::size_t kMostFindings = 20;
constexpr const char* kPlan = "plan";
constexpr std::size_t kMostPlanned = 4096;  // nodes of a plan
constexpr int kMostRounds = 4096;

constexpr NamedValue<NodeNaming> kNodeNamings[] = {{NodeNaming::host, "host"},
                                                   {NodeNaming::file, "file"}};
constexpr NamedValue<Repeats> kRepeats[] = {{Repeats::median, "median"},
                                            {Repeats::latest, "latest"}};

class FleetCommand : public Command {
 public:
  explicit FleetCommand(CLI::App& root)
      : Command(root.add_subcommand(
            "fleet",
            "Compare the journals of many nodes: which GPU, link, NIC, node or group of nodes is "
            "slower than its peers; exits with 1 if one is, or a node is missing or failed")) {
    app_->add_option("journals", paths_,
                     "Journals that --json wrote, folders of them (*.jsonl), or stores of duet "
                     "history; or the word plan: rounds in which the --nodes measure in pairs")
        ->type_name("PATH...");
    add("--nodes", nodes_, "LIST",
        "The nodes that should be there: names such as node1,node[03-16], or a file of them; those "
        "without a journal are missing; of a plan also their number");
    app_->add_option("--rounds", rounds_,
                     "Of a plan, only so many rounds; default: those in which every node meets "
                     "every other")
        ->type_name("COUNT")
        ->check(CLI::Range(1, kMostRounds));
    add("--groups", groups_, "FILE",
        "Groups of nodes, such as the nodes of a switch, as TOML: leaf1 = [\"node[1-16]\"]");
    add("--node-names", naming_, "FROM",
        "Where the name of a journal's node is from: host (its environment) or file (the "
        "journal's name without its ending); default host");
    add("--repeats", repeats_, "WHICH",
        "Of several journals of a node: the median or the latest figure of each case; default "
        "median");
    app_->add_flag("--all", all_, "Show all findings; default: the first 20 of each sort");
    add("--json", json_, "FILE",
        "Write what was found as one JSON document; -: to standard output");
    add("--prometheus", prometheus_, "FILE",
        "Write what was found for node_exporter's textfile collector, and replace FILE atomically, "
        "if an earlier fleet wrote it; -: to standard output");
    add("--report", page_, "FILE.html",
        "Write a page with what was found, the slowest nodes by case, pairs, and the distribution "
        "of each case; -: to standard output");
    offer(*app_, "--node-names", {"host", "file"});
    offer(*app_, "--repeats", {"median", "latest"});
  }

  int run(const std::vector<std::string>&) override {
    if (paths_.empty()) throw UsageError("fleet: expected journals, folders of them or a store");
    if (paths_.front() == kPlan) return plan();
    refuse_given({{"--rounds", rounds_ > 0}}, "expected with plan");
    const FleetOptions options{parse_name(kNodeNamings, "--node-names", naming_),
                               parse_name(kRepeats, "--repeats", repeats_)};
    const auto groups =
        groups_.empty() ? std::map<std::string, std::vector<std::string>>() : groups_in(groups_);
    std::vector<std::string> expected;
    if (!nodes_.empty()) expected = node_names_of("--nodes", nodes_);
    check_files();
    const FleetReport report = fleet_report(read_fleet(paths_, options), groups, expected);
    for (const std::string& warning : report.input.warnings) complain(warning);
    write(report);
    const bool taken = names_standard_output(json_) || names_standard_output(prometheus_) ||
                       names_standard_output(page_);
    (taken ? std::cerr : std::cout) << fleet_text(report, all_ ? SIZE_MAX : kMostFindings);
    if (judged_figures(report) == 0) {
      complain(fmt::format("nothing was compared: no figure has {} samples or more", kFewestPeers));
      return 1;
    }
    return findings(report) > 0 ? 1 : 0;
  }

 private:
  // A line for each pair: the round, and the two nodes.
  int plan() const {
    if (paths_.size() > 1)
      throw UsageError("fleet plan: expected no journals (./plan names a file)");
    if (nodes_.empty()) throw UsageError("fleet plan: expected --nodes");
    std::vector<std::pair<const char*, bool>> others;
    for (const char* flag :
         {"--groups", "--node-names", "--repeats", "--all", "--prometheus", "--report"}) {
      others.emplace_back(flag, app_->get_option(flag)->count() > 0);
    }
    refuse_given(others, "expected with journals");
    const std::vector<std::string> nodes = planned_nodes();
    const std::vector<FleetRound> rounds = tournament(static_cast<int>(nodes.size()), rounds_);
    if (!json_.empty()) {
      OutputFile::create(json_, "expected another name").write(plan_json(nodes, rounds));
    }
    if (names_standard_output(json_)) return 0;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      for (const auto& [one, other] : rounds[i]) {
        std::cout << fmt::format("{} {} {}\n", i + 1, nodes[static_cast<std::size_t>(one)],
                                 nodes[static_cast<std::size_t>(other)]);
      }
    }
    return 0;
  }

  // Names, or the numbers from 0 on.
  std::vector<std::string> planned_nodes() const {
    std::vector<std::string> nodes;
    if (nodes_.find_first_not_of("0123456789") == std::string::npos) {
      constexpr std::size_t kMostDigits = 6;
      const std::size_t count = nodes_.size() > kMostDigits ? kMostPlanned + 1 : std::stoul(nodes_);
      for (std::size_t i = 0; i < count; ++i) nodes.push_back(std::to_string(i));
    } else {
      nodes = node_names_of("--nodes", nodes_);
    }
    const std::set<std::string> different(nodes.begin(), nodes.end());
    if (different.size() == nodes.size() && nodes.size() >= 2 && nodes.size() <= kMostPlanned) {
      return nodes;
    }
    throw UsageError(
        fmt::format("--nodes {}: expected 2 to {} different nodes", nodes_, kMostPlanned));
  }

  static std::string plan_json(const std::vector<std::string>& nodes,
                               const std::vector<FleetRound>& rounds) {
    const auto text_of = [](const Json& json) {
      return json.dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    std::string text = "{\"nodes\":" + text_of(nodes) + ",\"rounds\":[";
    for (const FleetRound& round :
         rounds) {  // one at a time: all are half a million pairs and more
      Json pairs = Json::array();
      for (const auto& [one, other] : round) {
        pairs.push_back(
            {nodes[static_cast<std::size_t>(one)], nodes[static_cast<std::size_t>(other)]});
      }
      text += (text.back() == '[' ? "" : ",") + text_of(pairs);
    }
    return text + "]}\n";
  }

  // Before anything is read, so that a file which cannot be written is bad usage.
  void check_files() const {
    require_different_files(
        {{"--json", json_}, {"--prometheus", prometheus_}, {"--report", page_}});
    if (!page_.empty()) {
      check_report_name("--report", page_);
      if (!has_report_page()) throw Unavailable(no_report_page());
      OutputFile::check_replaceable(page_, kReportHead);
    }
    if (!prometheus_.empty()) OutputFile::check_replaceable(prometheus_, kFleetPrometheusHead);
  }

  void write(const FleetReport& report) const {
    if (!json_.empty()) {
      const std::string text =
          fleet_json(report).dump(2, ' ', false, Json::error_handler_t::replace);
      OutputFile::create(json_, "expected another name").write(text + '\n');
    }
    if (!prometheus_.empty()) {
      OutputFile::replace_whole(prometheus_, kFleetPrometheusHead,
                                fleet_prometheus(report, unix_seconds()));
    }
    if (!page_.empty()) {
      OutputFile::replace_whole(page_, kReportHead, fleet_page(fleet_page_data(report)));
    }
  }

  std::vector<std::string> paths_;
  std::string nodes_, groups_, json_, prometheus_, page_;
  std::string naming_ = "host", repeats_ = "median";
  int rounds_ = 0;  // 0: all
  bool all_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(fleet, FleetCommand)

}  // namespace duet
