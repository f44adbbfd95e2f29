// What may stand next on the command line, from the definitions of commands and flags.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace duet {

struct Candidate {
  std::string word;
  std::string description;  // one line; may be empty
};

struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;  // names of files may stand there too
};

// Completes the last of `words`, the words after the program's name; it may be empty. Of a list
// ("bf16,f") the candidates are whole lists ("bf16,fp32").
Completion complete(const CLI::App& root, const std::vector<std::string>& words);

// The command that takes such a word behind its name: "duet collective" for "all_gather"; "": none.
std::string command_with_word(const CLI::App& root, const std::string& word);

// The script by which a shell (bash, zsh, fish) asks `duet complete`. Throws UsageError for another
// shell.
std::string completion_script(const std::string& shell);

}  // namespace duet
