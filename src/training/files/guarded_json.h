// JSON from files that anybody may have written.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace duet {

// What a file should be, in the words of its messages.
struct ExpectedJson {
  const char* file;      // "a safetensors file"
  const char* not_json;  // what is wrong with other bytes: "header is not JSON"
  const char* member;    // what has a name in it: "tensor"
  const char* shallow;   // what nests less deeply: "tensors"
  std::size_t deepest;   // objects and arrays in one another, at most
};

// `place` is a file, or a file and something in it.
[[noreturn]] void refuse(const std::string& place, const std::string& found,
                         const std::string& expected);
// "FILE: tensor 'NAME'", on one line.
std::string place_of(const std::string& file, const char* member, const std::string& name);

// An object. Throws UsageError "FILE: what is wrong: expected ..." unless the text is one, nests at
// most so deeply and has no name twice in one object. Takes n log n time.
nlohmann::json parse_guarded_json(const std::string& file, const std::string& text,
                                  const ExpectedJson& expected);

}  // namespace duet
