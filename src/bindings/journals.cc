// Journals for programs in other languages.
#include <nlohmann/json.hpp>

#include "bindings/status.h"
#include "report/data.h"
#include "results/journal.h"

using duet::bindings::guarded;
using duet::bindings::require_pointer;

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
