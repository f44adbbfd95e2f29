#include "training/files/guarded_json.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/plain_text.h"

namespace duet {
namespace {

// Refuses names that occur twice, of which json::parse() would drop one, and deep nesting. (The
// callback of json::parse() could do the same, in time that is quadratic in the names.)
class JsonGuard : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonGuard(const std::string& file, const ExpectedJson& expected)
      : file_(file), expected_(expected) {}

  bool key(std::string& name) override {
    if (names_.back().insert(name).second) return true;
    refuse(place_of(file_, expected_.member, name), "twice", "each name once");
  }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  bool enter() {
    if (names_.size() == expected_.deepest) refuse(file_, "nests deeply", expected_.shallow);
    names_.emplace_back();
    return true;
  }
  bool leave() {
    names_.pop_back();
    return true;
  }

  const std::string& file_;
  const ExpectedJson& expected_;
  std::vector<std::set<std::string>> names_;  // of the objects that are open
};

}  // namespace

void refuse(const std::string& place, const std::string& found, const std::string& expected) {
  throw UsageError(fmt::format("{}: {}: expected {}", place, found, expected));
}

std::string place_of(const std::string& file, const char* member, const std::string& name) {
  return fmt::format("{}: {} '{}'", file, member, one_line(name));
}

nlohmann::json parse_guarded_json(const std::string& file, const std::string& text,
                                  const ExpectedJson& expected) {
  JsonGuard guard(file, expected);
  // The parser would skip a byte order mark, and take a NUL for the end.
  const bool plain = !text.empty() && text[0] == '{' && text.find('\0') == std::string::npos;
  if (!plain || !nlohmann::json::sax_parse(text, &guard)) {
    refuse(file, expected.not_json, expected.file);
  }
  return nlohmann::json::parse(text);
}

}  // namespace duet
