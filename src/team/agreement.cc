#include "team/agreement.h"

#include <fmt/format.h>

#include <exception>
#include <map>

#include "core/error.h"
#include "core/packing.h"

namespace duet {
namespace {

template <typename ErrorType>
class OfAll : public ErrorType, public OnAllRanks {
 public:
  using ErrorType::ErrorType;
};

struct Raisers {
  void (*one)(const std::string&);
  void (*all)(const std::string&);
};

template <typename ErrorType>
Raisers raisers() {
  return {[](const std::string& text) { throw ErrorType(text); },
          [](const std::string& text) { throw OfAll<ErrorType>(text); }};
}

// Interrupted takes no text.
Raisers interrupted() {
  return {[](const std::string&) { throw Interrupted(); },
          [](const std::string&) { throw OfAll<Interrupted>(); }};
}

const Raisers& raisers_of(const std::string& kind) {
  static const std::map<std::string, Raisers> all{
      {"usage", raisers<UsageError>()},        {"argument", raisers<BadArgument>()},
      {"unavailable", raisers<Unavailable>()}, {"memory", raisers<OutOfMemory>()},
      {"timeout", raisers<Timeout>()},         {"mismatch", raisers<Mismatch>()},
      {"interrupted", interrupted()},          {"error", raisers<Error>()},
      {"peer", raisers<PeerFailed>()}};
  const auto found = all.find(kind);
  return found != all.end() ? found->second : all.at("error");
}

template <typename ErrorType>
bool is(const std::exception& error) {
  return dynamic_cast<const ErrorType*>(&error) != nullptr;
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

// The failure of the lowest process. A process that failed only because of another one comes last.
void raise_first(const std::vector<std::string>& all) {
  ShareOutcome consequence;
  for (const std::string& each : all) {
    const std::vector<std::string> fields = unpack(each);
    const ShareOutcome outcome{fields.at(0), fmt::format("{}: {}", fields.at(2), fields.at(1))};
    if (outcome.fine()) continue;
    if (outcome.kind != "peer") raise(outcome);
    if (consequence.fine()) consequence = outcome;
  }
  if (!consequence.fine()) raise(consequence);
}

}  // namespace

ShareOutcome outcome_of(const std::exception_ptr& error) {
  if (error == nullptr) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return {kind_of(known), known.what()};
  } catch (...) {
    return {"error", "an unknown error"};
  }
}

void raise(const ShareOutcome& outcome) {
  raisers_of(outcome.kind).one(outcome.text);
  std::terminate();  // it has thrown
}

void raise_on_all_ranks(const ShareOutcome& outcome) {
  raisers_of(outcome.kind).all(outcome.text);
  std::terminate();  // it has thrown
}

void run_together(Processes& processes, const std::function<void()>& share) {
  std::exception_ptr own;
  try {
    share();
  } catch (...) {
    own = std::current_exception();
  }
  const ShareOutcome outcome = outcome_of(own);
  if (outcome.kind == "unavailable") {
    processes.decline(outcome.text);
  } else if (!outcome.fine() && outcome.kind != "peer") {
    processes.fail(outcome.text);
  }
  processes.begin_epoch();
  std::vector<std::string> all;
  try {
    all = processes.gather_all(pack({outcome.kind, outcome.text, processes.name()}),
                               "all processes to end their share", kNoDeadline);
  } catch (const Error&) {
    if (own != nullptr) std::rethrow_exception(own);
    throw;
  }
  if (own != nullptr && outcome.kind != "peer") std::rethrow_exception(own);
  raise_first(all);
}

}  // namespace duet
