// The words that shells offer for the value of a flag or a positional. A command says them beside
// its flags.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

namespace duet {

using Words = std::vector<std::string>;

// `option`: "--dtype", or the name of a positional. Throws what CLI11 throws where the command does
// not have it.
void offer(CLI::App& app, const std::string& option, std::function<Words()> values);
void offer(CLI::App& app, const std::string& option, const Words& values);
// Names of files may stand there as well.
void offer_files(CLI::App& app, const std::string& option);

// None where nothing is offered.
Words offered(const CLI::Option& option);
bool files_offered(const CLI::Option& option);

// Of values that have a name each, and of values that hold their name.
template <typename Values>
Words names_of(const Values& values) {
  Words names;
  for (const auto& each : values) names.emplace_back(name(each));
  return names;
}
template <typename Values>
Words own_names(const Values& values) {
  Words names;
  for (const auto& each : values) names.push_back(each.name);
  return names;
}

inline Words and_also(Words words, const std::string& word) {
  words.push_back(word);
  return words;
}

}  // namespace duet
