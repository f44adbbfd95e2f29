// Memory
#include "scenarios.h"
namespace duet::multiprocess {
void memory(Team&) {}
void wait_at_flag(Team& t) { wait_at_barrier(t); }
}  // namespace duet::multiprocess
