#include "overlap/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<OverlapPolicyKind> kPolicies[] = {
    {OverlapPolicyKind::serial, "serial"},
    {OverlapPolicyKind::base, "base"},
    {OverlapPolicyKind::priority, "priority"},
    {OverlapPolicyKind::partition, "partition"},
    {OverlapPolicyKind::priority_partition, "priority+partition"},
    {OverlapPolicyKind::zero_cta, "zero-cta"},
    {OverlapPolicyKind::dma, "dma"},
    {OverlapPolicyKind::dma_partition, "dma+partition"},
};

[[noreturn]] void refuse(std::string_view text) {
  std::vector<std::string_view> names = names_in(kPolicies);
  names.insert(names.begin(), "all");
  throw UsageError(fmt::format(
      "policy '{}'{}: expected {}, a partition with ':' and its units where they are given", text,
      did_you_mean(text, names), fmt::join(names, ", ")));
}

int parse_units(std::string_view text, std::string_view whole) {
  int units = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), units);
  if (error != std::errc() || end != text.data() + text.size() || units < 1) refuse(whole);
  return units;
}

OverlapPolicy parse_policy(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const auto found = std::find_if(std::begin(kPolicies), std::end(kPolicies),
                                  [word](const auto& each) { return each.name == word; });
  if (found == std::end(kPolicies)) refuse(text);
  if (colon == std::string_view::npos) return {found->value, 0};
  if (!has_partition(found->value)) refuse(text);
  return {found->value, parse_units(text.substr(colon + 1), text)};
}

}  // namespace

bool has_partition(OverlapPolicyKind kind) {
  return kind == OverlapPolicyKind::partition || kind == OverlapPolicyKind::priority_partition ||
         kind == OverlapPolicyKind::dma_partition;
}

bool by_dma(OverlapPolicyKind kind) {
  return kind == OverlapPolicyKind::dma || kind == OverlapPolicyKind::dma_partition;
}

std::string name(const OverlapPolicy& policy) {
  if (policy.units == 0) return std::string(name_of(kPolicies, policy.kind));
  return fmt::format("{}:{}", name_of(kPolicies, policy.kind), policy.units);
}

std::vector<OverlapPolicy> parse_policies(std::string_view text) {
  std::vector<OverlapPolicy> policies;
  const auto add = [&policies](const OverlapPolicy& policy) {
    if (std::find(policies.begin(), policies.end(), policy) == policies.end()) {
      policies.push_back(policy);
    }
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (word == "all") {
      for (const OverlapPolicyKind kind : values_in(kPolicies)) add({kind, 0});
    } else {
      add(parse_policy(word));
    }
    begin = end + 1;
  }
  return policies;
}

}  // namespace duet
