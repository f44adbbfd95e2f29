#include "corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "mutations.h"

namespace duet {
namespace {

std::string line_of(const Json& record) { return record.dump() + "\n"; }

Seed load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Seed seed;
  seed.text = {std::istreambuf_iterator<char>(file), {}};
  seed.journal = parse_journal(path, seed.text);
  std::istringstream lines(seed.text);
  for (std::string line; std::getline(lines, line);) {
    Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (record.is_discarded()) continue;  // the last line may be cut short
    seed.lines.push_back(line_of(record));
    seed.records.push_back(std::move(record));
  }
  return seed;
}

// Changes some lines as JSON, and the order of lines.
std::string changed(const Seed& seed, const Seed& other, Dice& dice) {
  std::vector<std::string> lines = seed.lines;
  for (std::size_t left = 1 + dice.below(3); left > 0; --left) {
    const std::size_t place = dice.below(lines.size());
    Json record = seed.records[place];
    for (std::size_t more = 1 + dice.below(2); more > 0; --more) {
      change_record(record, dice.one_of(other.records), dice);
    }
    lines[place] = line_of(record);
  }
  if (dice.below(8) == 0) std::swap(lines.front(), lines[dice.below(lines.size())]);
  if (dice.below(8) == 0) lines.push_back(dice.one_of(other.lines));
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

std::vector<Seed> load_corpus(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".jsonl") paths.push_back(entry.path().string());
  }
  if (paths.empty()) throw UsageError(folder + ": expected a folder of journals, *.jsonl");
  std::sort(paths.begin(), paths.end());
  std::vector<Seed> corpus;
  for (const std::string& path : paths) corpus.push_back(load(path));
  return corpus;
}

Mutant mutant(const std::vector<Seed>& corpus, std::uint64_t number) {
  Dice dice(number);
  const Seed& seed = dice.one_of(corpus);
  const Seed& other = dice.one_of(corpus);
  const bool as_json = dice.below(2) == 0;
  Mutant made{&seed, as_json ? changed(seed, other, dice) : seed.text};
  const std::size_t damage = as_json ? (dice.below(8) == 0 ? 1 : 0) : 1 + dice.below(3);
  for (std::size_t i = 0; i < damage; ++i) damage_text(made.text, other.text, dice);
  return made;
}

}  // namespace duet
