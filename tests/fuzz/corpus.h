#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/journal.h"
#include "results/record_json.h"

namespace duet {

struct Seed {
  std::string text;
  std::vector<Json> records;       // of its lines, with fields that Duet does not know
  std::vector<std::string> lines;  // the records as text
  JournalContents journal;
};

// Every *.jsonl of a folder, by name. Throws UsageError if there is none.
std::vector<Seed> load_corpus(const std::string& folder);

struct Mutant {
  const Seed* origin;
  std::string text;
};

// The mutant with this number; it depends on the number and the corpus alone.
Mutant mutant(const std::vector<Seed>& corpus, std::uint64_t number);

}  // namespace duet
