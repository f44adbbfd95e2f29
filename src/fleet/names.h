// Names of nodes that a user gives: lists, files of names, groups.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace duet {

// "node1,node[03-05,9]" is node1, node03, node04, node05, node9, as Slurm writes lists. Throws
// UsageError, also for more than 1,000,000 names.
std::vector<std::string> node_names(const std::string& list);

// `text` is a list, or the path of a file with lists, one a line; "#" begins a comment. Throws
// UsageError, which begins with `flag`.
std::vector<std::string> node_names_of(const std::string& flag, const std::string& text);

// A TOML file of groups: a list of lists of nodes by the group's name, `leaf1 = ["node[1-16]"]`.
// A node is in one group at most. Throws UsageError.
std::map<std::string, std::vector<std::string>> groups_in(const std::string& path);

}  // namespace duet
