#pragma once

#include <memory>
#include <string>

#include "gemm/grouped.h"

namespace duet {

// The engine that calls `products` for one group after the other: on the caller's stream
// ("loop-NAME"), or on that and three more, group i on stream i mod 4 ("streams-NAME"). It makes a
// plan for each number of rows that occurs on a stream, and divides the time to tune among them.
// `products` must outlive it.
std::unique_ptr<GroupedGemmEngine> make_grouped_loop(GemmEngine& products, bool on_several_streams);

// Whether make_grouped_loop() made it, and the engine that it calls; else the engine itself.
bool is_loop(const std::string& engine);
bool has_several_streams(const std::string& engine);  // "streams-NAME"
std::string engine_of_products(const std::string& engine);

bool tunes(const std::string& engine);  // whether it measures to choose an algorithm

}  // namespace duet
