#include "soak/injection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<InjectedFault> kInjected[] = {
    {InjectedFault::memory, "memory"}, {InjectedFault::link, "link"},
    {InjectedFault::core, "core"},     {InjectedFault::collective, "collective"},
    {InjectedFault::slow, "slow"},     {InjectedFault::counter, "counter"},
    {InjectedFault::xid, "xid"},       {InjectedFault::lost, "lost"}};

bool is_number(std::string_view text, int& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end;
}

Injection parse_injection(std::string_view text, int devices) {
  const std::size_t at = text.find('@'), colon = text.find(':');
  Injection injection;
  const bool shaped = at != text.npos && colon != text.npos && at < colon &&
                      is_number(text.substr(at + 1, colon - at - 1), injection.round) &&
                      is_number(text.substr(colon + 1), injection.rank);
  if (!shaped || injection.round < 1) {
    throw UsageError(
        fmt::format("--inject {}: expected FAULT@ROUND:DEVICE, such as memory@3:0", text));
  }
  if (injection.rank < 0 || injection.rank >= devices) {
    throw UsageError(fmt::format("--inject {}: expected a device from 0 to {}", text, devices - 1));
  }
  injection.fault = parse_name(kInjected, "--inject", text.substr(0, at));
  return injection;
}

}  // namespace

std::vector<Injection> parse_injections(std::string_view list, int devices) {
  std::vector<Injection> all;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    all.push_back(parse_injection(list.substr(0, comma), devices));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return all;
}

bool Injections::has(InjectedFault fault, int round, int rank) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Injection& each) {
    return each.fault == fault && each.round == round && each.rank == rank;
  });
}

}  // namespace duet
