#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/journal.h"

namespace duet {

struct Seed {
  std::string text;
  std::vector<std::string> lines;  // the same as Duet writes it
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
