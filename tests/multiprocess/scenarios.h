// Scenarios that all processes of a test run together. Each throws if a check fails.
#pragma once

#include "team/team.h"

namespace duet::multiprocess {

inline constexpr double kConnectSeconds = 5;  // deadline for all processes to connect

void barriers(Team& team);  // barriers, and gathers of odd sizes
void fail(Team& team);      // errors of one rank, and calls after them
void sample(Team& team);    // the sampler takes the same decisions in all processes
void memory(Team& team);    // every rank writes to all others' memory, by streams and semaphores
void wait_at_barrier(Team& team);    // all but the last rank, which sleeps, wait for it on the CPU
void wait_at_semaphore(Team& team);  // the same, but they wait on their devices

// Does nothing for 30 s, or until another process fails.
void idle(Team& team);

// Throws Mismatch with the text unless the condition holds.
void require(bool holds, const std::string& text);

}  // namespace duet::multiprocess
