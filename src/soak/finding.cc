#include "soak/finding.h"

#include <fmt/format.h>

#include "core/names.h"
#include "core/plain_text.h"

namespace duet {
namespace {

constexpr NamedValue<SoakFault> kFaults[] = {
    {SoakFault::memory, "memory"},   {SoakFault::link, "link"},
    {SoakFault::core, "core"},       {SoakFault::collective, "collective"},
    {SoakFault::counter, "counter"}, {SoakFault::xid, "xid"},
    {SoakFault::slow, "slow"},       {SoakFault::lost, "lost"}};

constexpr std::string_view kAt = " at ", kColon = ": ";

}  // namespace

const char* name(SoakFault fault) { return name_of(kFaults, fault); }

std::string text_of(const SoakFinding& finding) {
  return one_line(
      fmt::format("{}{}{}{}{}", name(finding.fault), kAt, finding.place, kColon, finding.text));
}

std::optional<SoakFinding> parse_soak_finding(std::string_view text) {
  for (const NamedValue<SoakFault>& each : kFaults) {
    const std::string head = each.name + std::string(kAt);
    if (text.substr(0, head.size()) != head) continue;
    const std::size_t colon = text.find(kColon, head.size());
    if (colon == std::string_view::npos) return std::nullopt;
    return SoakFinding{each.value, std::string(text.substr(head.size(), colon - head.size())),
                       std::string(text.substr(colon + kColon.size()))};
  }
  return std::nullopt;
}

}  // namespace duet
