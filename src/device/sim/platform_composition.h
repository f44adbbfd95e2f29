// Completes platform files from device specs. A platform file may name a device spec (`device_spec
// = "h200-sxm"`), which supplies each figure that the file does not have itself.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace duet::sim {

// Returns the table of a platform file with the figures of the device spec that it names. A table
// without `device_spec` is returned as it is. `file` is the file's name for messages. Throws
// UsageError for an unknown device spec.
toml::table completed(const std::string& file, toml::table platform);

// Returns the text of the platform with `devices` devices a node as a file that names no device
// spec: the file's own lines, then the spec's lines with their comments. The text `toml` must have
// one figure per line, as the files in specs have.
std::string self_contained(const std::string& file, std::string_view toml, int devices);

}  // namespace duet::sim
