#pragma once

#include "training/host/matrix.h"
#include "training/operations/vocabulary_part.h"

namespace duet {

// Row r of x (batch * length, width) is row tokens[r] of token_table (vocabulary, width) plus row
// r % length of position_table (at least length, width). Length 0: without positions, and
// position_table is not used. Throws BadArgument if a token is outside [0, vocabulary). Of a table
// with a part of the vocabulary, rows of other tokens are zeros before positions are added.
template <class Real>
void embedding(const std::int32_t* tokens, std::int64_t length, Matrix<const Real> token_table,
               Matrix<const Real> position_table, Matrix<Real> x, const VocabularyPart& part = {});

// Adds row r of dx to row tokens[r] of dtoken_table and to row r % length of dposition_table, in
// the order of the rows. Length 0: as above. Of a part, other tokens' rows are added to positions
// only.
template <class Real>
void embedding_backward(const std::int32_t* tokens, std::int64_t length, Matrix<const Real> dx,
                        Matrix<Real> dtoken_table, Matrix<Real> dposition_table,
                        const VocabularyPart& part = {});

}  // namespace duet
