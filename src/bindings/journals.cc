// Journals, and the version that writes them.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bindings/status.h"
#include "report/data.h"
#include "results/journal.h"
#include "results/version.h"

using duet::bindings::guarded;
using duet::bindings::require_pointer;

uint32_t duet_version() noexcept {
  unsigned major = 0, minor = 0, patch = 0;
  std::sscanf(duet::version(), "%u.%u.%u", &major, &minor, &patch);
  return major * 10000 + minor * 100 + patch;
}

duet_status duet_verdicts(const char* name, const char* text, size_t length,
                          duet_text** verdicts) noexcept {
  return guarded([&] {
    require_pointer(text, "duet_verdicts: text");
    require_pointer(verdicts, "duet_verdicts: verdicts");
    *verdicts = nullptr;
    const std::string journal = name == nullptr ? "journal" : name;
    duet::JournalContents contents = duet::parse_journal(journal, {text, length});
    const duet::Json data =
        duet::report_data({{journal, std::move(contents.runs), std::move(contents.warnings)}});
    auto made = std::make_unique<duet_text>();
    for (const duet::Json& record : data.at("journals").at(0).at("records")) {
      duet::Json line = {{"benchmark", record.at("benchmark")},
                         {"device", record.at("device")},
                         {"case", record.at("case")},
                         {"verdict", record.value("verdict", duet::Json())}};
      if (record.contains("engine")) line["engine"] = record.at("engine");
      made->text += line.dump() + "\n";
    }
    *verdicts = made.release();
  });
}
