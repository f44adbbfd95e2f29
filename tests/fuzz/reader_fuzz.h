#pragma once

#include <string>

namespace duet {

// The program of a reader's fuzzer, `NAME CORPUS COUNT`: passes COUNT mutants of the files of the
// folder CORPUS, but for *.md, to `accepts`, which returns whether the reader took the text, and
// throws where it failed. Fails unless a tenth to nine tenths are accepted.
int fuzz_reader(int argc, char** argv, bool (*accepts)(const std::string&));

}  // namespace duet
