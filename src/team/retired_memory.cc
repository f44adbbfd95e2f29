#include "team/retired_memory.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

namespace duet {
namespace {

std::vector<std::uint64_t> numbers_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::uint64_t>(stream), {}};
}

}  // namespace

void RetiredMemory::retire(int local, std::uint64_t number, Buffer own) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ranks_[static_cast<std::size_t>(local)].emplace(number, std::move(own));
}

void RetiredMemory::keep(Buffer own) {
  const std::lock_guard<std::mutex> lock(mutex_);
  kept_.push_back(std::move(own));
}

std::vector<std::uint64_t> RetiredMemory::retired(int local) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, own] : ranks_[static_cast<std::size_t>(local)]) {
    numbers.push_back(number);
  }
  return numbers;
}

// Without the lock: a GPU's free waits for what its streams have been given.
void RetiredMemory::free(int local, const std::vector<std::uint64_t>& numbers) {
  std::vector<Buffer> freed;
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& own = ranks_[static_cast<std::size_t>(local)];
  for (const std::uint64_t number : numbers) {
    const auto found = own.find(number);
    if (found == own.end()) continue;
    freed.push_back(std::move(found->second));
    own.erase(found);
  }
}

std::string numbers_text(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) text += std::to_string(number) + ' ';
  return text;
}

std::vector<std::uint64_t> numbers_in_all(const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> common;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::vector<std::uint64_t> each = numbers_of(texts[i]);
    std::vector<std::uint64_t> both;
    std::set_intersection(common.begin(), common.end(), each.begin(), each.end(),
                          std::back_inserter(both));
    common = i == 0 ? each : both;
  }
  return common;
}

}  // namespace duet
