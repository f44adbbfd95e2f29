#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// The place of a text in a list, at whose end it is put if it is not there.
std::size_t index_of(std::vector<std::string>& list, const std::string& text);

// Matrices of rates, source by destination, of the copies of the pattern `pair` among the results
// of one section. A matrix holds the cases that differ only in source and destination, at the size
// that has the most pairs. A case that was skipped or failed is "-". "" if there are fewer than two
// pairs.
std::string pair_matrices(const std::vector<Record>& results);

// The keys of the cases that are shown only in a matrix: pairs that were planned at one size alone,
// if that size has at least three pairs.
std::set<std::string> matrix_only(const std::vector<CaseId>& cases);

}  // namespace duet
