#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace duet {

// Values by name, in the order in which they were added; for a few names.
template <typename T>
class ByName {
 public:
  using Entry = std::pair<std::string, T>;

  ByName() = default;
  ByName(std::initializer_list<Entry> entries) : entries_(entries) {}
  explicit ByName(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  // nullptr if there is no such name. Valid until the next set().
  const T* find(std::string_view name) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.first == name; });
    return found == entries_.end() ? nullptr : &found->second;
  }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // The value, or `otherwise` if there is no such name.
  T value(std::string_view name, T otherwise = {}) const {
    const T* found = find(name);
    return found == nullptr ? otherwise : *found;
  }

  // Replaces the value of the name in its place, or appends it.
  void set(std::string_view name, T value) {
    for (Entry& entry : entries_) {
      if (entry.first != name) continue;
      entry.second = std::move(value);
      return;
    }
    entries_.emplace_back(name, std::move(value));
  }

  using Iterator = typename std::vector<Entry>::const_iterator;
  Iterator begin() const { return entries_.begin(); }
  Iterator end() const { return entries_.end(); }
  const Entry& front() const { return entries_.front(); }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  bool operator==(const ByName& other) const { return entries_ == other.entries_; }
  bool operator!=(const ByName& other) const { return entries_ != other.entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace duet
