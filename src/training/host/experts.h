// What mixture-of-experts layers do beside their products: choices of experts, and rows that are
// sorted by them. Rows of results are computed in parallel; every result has the same bits for any
// number of threads.
#pragma once

#include "training/operations/operation.h"

namespace duet {

// The operations of these names on host memory, fp32 where they compute.
void choose_experts(const ChooseExperts& operation);
void group_rows(const GroupRows& operation);
// Throws BadArgument for an index that is not of a row.
void gather_rows(const GatherRows& operation);
void combine_rows(const CombineRows& operation);
void limit_choices(const LimitChoices& operation);
void combine_rows_backward(const CombineRowsBackward& operation);
void quantise_rows(const QuantiseRows& operation);
void gather_fp8_rows(const GatherFp8Rows& operation);
void choose_experts_backward(const ChooseExpertsBackward& operation);
void grouped_linear(const GroupedLinear& operation);
void grouped_linear_backward_input(const GroupedLinearBackwardInput& operation);
void grouped_linear_backward_weight(const GroupedLinearBackwardWeight& operation);

// How many rows of a matrix of so many the groups have.
std::int64_t rows_there(const GroupedRows& groups, std::int64_t rows);

}  // namespace duet
