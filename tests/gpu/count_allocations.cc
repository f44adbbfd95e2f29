// Replaces `new` and `delete` of the whole program.
#include "count_allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local long count = 0;

}  // namespace

long duet::allocations() { return count; }

void* operator new(std::size_t bytes) {
  ++count;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
