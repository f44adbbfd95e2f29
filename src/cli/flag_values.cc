#include "cli/flag_values.h"

#include <map>
#include <utility>

namespace duet {
namespace {

struct Offer {
  std::function<Words()> values;
  bool files = false;
};

// CLI11's options have no place for it. A program has one root, whose commands live as long as it.
std::map<const CLI::Option*, Offer>& offers() {
  static std::map<const CLI::Option*, Offer> all;
  return all;
}

}  // namespace

void offer(CLI::App& app, const std::string& option, std::function<Words()> values) {
  offers()[app.get_option(option)].values = std::move(values);
}

void offer(CLI::App& app, const std::string& option, const Words& values) {
  offer(app, option, [values] { return values; });
}

void offer_files(CLI::App& app, const std::string& option) {
  offers()[app.get_option(option)].files = true;
}

Words offered(const CLI::Option& option) {
  const auto found = offers().find(&option);
  return found != offers().end() && found->second.values ? found->second.values() : Words{};
}

bool files_offered(const CLI::Option& option) {
  const auto found = offers().find(&option);
  return found != offers().end() && found->second.files;
}

}  // namespace duet
