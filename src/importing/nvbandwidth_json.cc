// The JSON of `nvbandwidth -j`: a list of tests, each with a matrix of numbers as text.
#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "importing/json_fields.h"
#include "importing/nvbandwidth_matrix.h"
#include "importing/readers.h"

namespace duet {
namespace {

using Json = nlohmann::ordered_json;

NvbandwidthMatrix matrix_of(const Json& test, const std::string& place) {
  NvbandwidthMatrix matrix;
  matrix.test = text_at(test, "name");
  matrix.description = text_at(test, "bandwidth_description");
  // The sum is written with all its digits.
  if (const auto sum = amount_at(test, "sum")) matrix.sum = Printed{*sum, 0, 0};
  for (const Json& row : value_at(test, "bandwidth_matrix")) {
    matrix.places.push_back(place);
    if (!row.is_array()) throw UsageError("\"bandwidth_matrix\": expected a list of rows");
    matrix.rows.emplace_back();
    for (const Json& cell : row) {
      if (!cell.is_string()) throw UsageError("\"bandwidth_matrix\": expected numbers as text");
      matrix.rows.back().push_back(cell.get<std::string>());
    }
  }
  return matrix;
}

void take_test(ForeignRun& run, const Json& test, const std::string& place,
               const ImportOptions& options) {
  const std::string name = text_at(test, "name");
  const std::string status = text_at(test, "status");
  if (name.empty() || status.empty()) {
    throw UsageError("expected a test with \"name\" and \"status\"");
  }
  const std::string error = text_at(test, "error");
  const std::string reason = error.empty() ? "nvbandwidth says: " + status : error;
  if (status == "Passed") return take_matrix(run, matrix_of(test, place), options);
  if (status == "Running") {
    throw UsageError(fmt::format("{} had not ended: expected the output of a whole run", name));
  }
  take_without_figures(run, status == "Waived", name, reason, place);
}

// "0: NVIDIA H200 (00000000:1b:00): (node-1)": number, model, PCI address and host.
void take_gpus(ForeignRun& run, const Json& devices) {
  for (const Json& device : devices) {
    std::string text = device.is_string() ? device.get<std::string>() : "";
    const std::size_t colon = text.find(": ");
    const auto index = count_of(text.substr(0, colon));
    if (!index || colon == std::string::npos) continue;
    text = text.substr(colon + 2);
    const std::size_t host = text.rfind(": (");
    const bool named = host != std::string::npos && text.back() == ')';
    if (named && text.find(':', host + 3) == std::string::npos) {
      run.host = text.substr(host + 3, text.size() - host - 4);
      text.resize(host);
    }
    ForeignDevice one = nvbandwidth_device(*index, text);
    if (ends_with(one.model, ":")) one.model.pop_back();
    run.devices.push_back(std::move(one));
  }
}

}  // namespace

ForeignRun read_nvbandwidth_json(const Json& report, const ImportOptions& options) {
  const Json& body = value_at(report, "nvbandwidth");
  const Json& tests = value_at(body, "testcases");
  const std::string error = text_at(body, "error");
  if (!error.empty()) {
    throw UsageError(
        fmt::format("nvbandwidth failed: {}: expected the output of a whole run", error));
  }
  if (!tests.is_array()) {
    throw UsageError("nvbandwidth's JSON without a list \"testcases\": expected one");
  }
  ForeignRun run = nvbandwidth_run("JSON");
  run.version = text_at(body, "version");
  if (value_at(body, "GPU Device list").is_array()) {
    take_gpus(run, value_at(body, "GPU Device list"));
  }
  name_machine(run);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const std::string place = fmt::format("testcases[{}]", i);
    at_place(place, [&] { take_test(run, tests[i], place, options); });
  }
  return run;
}

}  // namespace duet
