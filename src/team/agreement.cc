// Errors as text between processes.
#include "team/agreement.h"

#include <fmt/format.h>

#include <exception>
#include <map>

#include "core/packing.h"

namespace duet {
namespace {

// Shares end far apart where one process tunes longer than others; one that hangs has deadlines of
// its own.
constexpr double kLongestSeconds = 600;

struct Outcome {
  std::string kind;  // "": fine; "peer": another process's failure
  std::string text;
};

template <typename Kind>
[[noreturn]] void raise(const std::string& text) {
  throw Kind(text);
}

[[noreturn]] void raise_interrupted(const std::string&) { throw Interrupted(); }

const std::map<std::string, void (*)(const std::string&)>& kinds() {
  static const std::map<std::string, void (*)(const std::string&)> all{
      {"usage", raise<UsageError>},        {"argument", raise<BadArgument>},
      {"unavailable", raise<Unavailable>}, {"memory", raise<OutOfMemory>},
      {"timeout", raise<Timeout>},         {"mismatch", raise<Mismatch>},
      {"interrupted", raise_interrupted},  {"error", raise<Error>},
      {"peer", raise<PeerFailed>}};
  return all;
}

template <typename Kind>
bool is(const std::exception& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

std::string kind_of(const std::exception& error) {
  if (is<PeerFailed>(error)) return "peer";
  if (is<UsageError>(error)) return "usage";
  if (is<BadArgument>(error)) return "argument";
  if (is<Unavailable>(error)) return "unavailable";
  if (is<OutOfMemory>(error)) return "memory";
  if (is<Timeout>(error)) return "timeout";
  if (is<Mismatch>(error)) return "mismatch";
  return is<Interrupted>(error) ? "interrupted" : "error";
}

Outcome outcome_of(const std::exception_ptr& error) {
  if (error == nullptr) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return {kind_of(known), known.what()};
  } catch (...) {
    return {"error", "an error without words"};
  }
}

// The first failure by process, whoever only heard of one last.
void raise_first(const std::vector<std::string>& all) {
  Outcome heard;
  for (const std::string& each : all) {
    const std::vector<std::string> fields = unpack(each);
    const Outcome outcome{fields.at(0), fmt::format("{}: {}", fields.at(2), fields.at(1))};
    if (outcome.kind.empty()) continue;
    if (outcome.kind != "peer") kinds().at(outcome.kind)(outcome.text);
    if (heard.kind.empty()) heard = outcome;
  }
  if (!heard.kind.empty()) kinds().at(heard.kind)(heard.text);
}

}  // namespace

void run_together(Processes& processes, const std::function<void()>& share) {
  std::exception_ptr own;
  try {
    share();
  } catch (...) {
    own = std::current_exception();
  }
  const Outcome outcome = outcome_of(own);
  if (!outcome.kind.empty() && outcome.kind != "peer") processes.fail(outcome.text);
  processes.begin_epoch();
  std::vector<std::string> all;
  try {
    all = processes.gather_all(pack({outcome.kind, outcome.text, processes.name()}),
                               "all processes to end their share", kLongestSeconds);
  } catch (const Error&) {
    if (own != nullptr) std::rethrow_exception(own);
    throw;
  }
  if (own != nullptr && outcome.kind != "peer") std::rethrow_exception(own);
  raise_first(all);
}

}  // namespace duet
