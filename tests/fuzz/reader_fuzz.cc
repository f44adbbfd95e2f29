#include "reader_fuzz.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "core/error.h"
#include "mutations.h"

namespace duet {
namespace {

std::vector<std::string> texts_of(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".md") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (texts.empty()) throw UsageError(folder + ": expected output of tools");
  return texts;
}

std::string mutant_of(const std::vector<std::string>& texts, std::uint64_t number) {
  Dice dice(number);
  std::string text = dice.one_of(texts);
  const std::size_t damages = 1 + dice.below(3);
  for (std::size_t i = 0; i < damages; ++i) damage_text(text, dice.one_of(texts), dice);
  return text;
}

int fuzz(const std::string& folder, std::uint64_t count, bool (*accepts)(const std::string&)) {
  const std::vector<std::string> texts = texts_of(folder);
  std::uint64_t accepted = 0;
  for (std::uint64_t number = 0; number < count; ++number) {
    const std::string text = mutant_of(texts, number);
    try {
      accepted += accepts(text) ? 1 : 0;
    } catch (const std::exception& error) {
      std::cerr << fmt::format("mutant {}: {}\n{}\n", number, error.what(), text);
      return 1;
    }
  }
  std::cout << fmt::format("{} mutants: {} accepted, {} refused\n", count, accepted,
                           count - accepted);
  const bool telling = accepted > count / 10 && accepted < count - count / 10;
  if (!telling) std::cerr << "expected a tenth to nine tenths to be accepted\n";
  return telling ? 0 : 1;
}

}  // namespace

int fuzz_reader(int argc, char** argv, bool (*accepts)(const std::string&)) {
  if (argc != 3) {
    std::cerr << fmt::format("usage: {} CORPUS COUNT\n", argv[0]);
    return 2;
  }
  try {
    return fuzz(argv[1], std::strtoull(argv[2], nullptr, 10), accepts);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace duet
