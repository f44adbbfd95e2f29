// A platform file names a device spec (`device_spec = "h200-sxm"`): its tables are completed by the
// spec's, figure by figure. What stands in the platform file itself comes first.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace duet::sim {

// Adds to a platform file's table, parsed from `file`, what the device spec that it names has and
// it has not. Leaves a table without `device_spec` as it is. Throws UsageError for an unknown one.
toml::table completed(const std::string& file, toml::table platform);

// The text of a platform of so many devices a node that names no device spec: the file's own lines,
// and behind them the spec's with their comments. Files must have a figure a line, as those of
// specs have.
std::string self_contained(const std::string& file, std::string_view toml, int devices);

}  // namespace duet::sim
