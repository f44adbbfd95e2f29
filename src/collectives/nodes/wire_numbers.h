// The immediate value of every write between the nodes of a column, and the numbers of wires in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace duet {

// What one rank brings to the choice of the next number.
struct WireNumbers {
  std::uint32_t next = 0;             // the first that may be chosen
  std::vector<std::uint32_t> in_use;  // by wires of this rank

  std::string text() const;
};

// The same on all ranks of the column, by text() of all of them: a number that no wire of any rank
// has, since wires of one plan may end at different times. Numbers are given in rotation, so that
// one is used again as late as possible. nullopt where all `count` numbers are in use.
std::optional<std::uint32_t> choose_wire_number(const std::vector<std::string>& texts,
                                                std::uint32_t count);

// A wire's message: the wire, whether the call is an odd one, and a number.
struct WireImmediate {
  static constexpr int kNumberBits = 19, kWireBits = 12;
  static constexpr std::uint32_t kNumbers = 1u << kNumberBits;
  // Of wires; the last of these numbers is that of notes.
  static constexpr std::uint32_t kWires = (1u << kWireBits) - 1;

  std::uint32_t wire = 0, number = 0;
  bool odd_call = false;

  std::uint32_t value() const {
    return wire << (kNumberBits + 1) | (odd_call ? kNumbers : 0) | number;
  }
  static WireImmediate of(std::uint32_t value) {
    return {value >> (kNumberBits + 1), value % kNumbers, (value & kNumbers) != 0};
  }
};

// What proxies tell each other about lost rails (failover.h).
enum class NoteKind : std::uint32_t { closed, question, answer };

struct Note {
  static constexpr int kNodeBits = 10, kSubjectBits = 7;
  static constexpr std::uint32_t kSubjects = 1u << kSubjectBits;

  NoteKind kind = NoteKind::closed;
  std::uint32_t subject = 0;  // closed: the rail; question and answer: its number % kSubjects
  int node = 0;               // that sends it

  static bool is(std::uint32_t immediate) {
    return WireImmediate::of(immediate).wire == WireImmediate::kWires;
  }
  std::uint32_t value() const {
    const auto of_kind = static_cast<std::uint32_t>(kind) << (kNodeBits + kSubjectBits);
    const std::uint32_t number = of_kind | subject << kNodeBits | static_cast<std::uint32_t>(node);
    return WireImmediate{WireImmediate::kWires, number, false}.value();
  }
  static Note of(std::uint32_t immediate) {
    const std::uint32_t number = WireImmediate::of(immediate).number;
    return {static_cast<NoteKind>(number >> (kNodeBits + kSubjectBits)),
            (number >> kNodeBits) % kSubjects, static_cast<int>(number % (1u << kNodeBits))};
  }
};

inline constexpr int kMostNodes = 1 << Note::kNodeBits;
inline constexpr int kMostRails = 1 << Note::kSubjectBits;

}  // namespace duet
