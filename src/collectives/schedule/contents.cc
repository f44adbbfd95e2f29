#include "collectives/schedule/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "collectives/partition.h"

namespace duet {
namespace {

std::int64_t distance(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from);
}

// The result at a rank: `begin` and `end` in its receive buffer, and terms whose source is the rank
// whose send buffer they are of.
std::vector<ByteValue> result_at(const Collective& collective, int rank, int ranks) {
  std::vector<ByteValue> result;
  if (reduces(collective.kind)) {
    const std::uint64_t bytes = recv_bytes(collective, rank, ranks);
    const bool scatters = collective.kind == CollectiveKind::reduce_scatter;
    const std::uint64_t begin = scatters ? bytes * static_cast<std::uint64_t>(rank) : 0;
    result.push_back({0, bytes, {}});
    for (int from = 0; from < ranks; ++from) {
      result.back().value.push_back({from, distance(0, begin)});
    }
    return result;
  }
  for (const Move& move : moves(collective, ranks)) {
    if (move.to != rank) continue;
    result.push_back({move.to_offset,
                      move.to_offset + move.bytes,
                      {{move.from, distance(move.to_offset, move.from_offset)}}});
  }
  return result;
}

// The values of equally long ranges, all moved to begin at `begin`, added up.
std::vector<ByteValue> sum_of(std::vector<std::vector<ByteValue>> ranges, std::uint64_t begin) {
  std::set<std::uint64_t> cuts;
  for (std::vector<ByteValue>& values : ranges) {
    const std::int64_t moved = distance(values.empty() ? begin : values.front().begin, begin);
    for (ByteValue& value : values) {
      value.begin += static_cast<std::uint64_t>(moved);
      value.end += static_cast<std::uint64_t>(moved);
      for (Term& term : value.value) term.shift -= moved;
      cuts.insert({value.begin, value.end});
    }
  }
  std::vector<ByteValue> sums;
  std::vector<std::size_t> at(ranges.size(), 0);
  for (auto cut = cuts.begin(); cut != cuts.end() && std::next(cut) != cuts.end(); ++cut) {
    ByteValue sum{*cut, *std::next(cut), {}};
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      while (ranges[i][at[i]].end <= sum.begin) ++at[i];
      const Value& value = ranges[i][at[i]].value;
      sum.value.insert(sum.value.end(), value.begin(), value.end());
    }
    std::sort(sum.value.begin(), sum.value.end());
    sums.push_back(std::move(sum));
  }
  return sums;
}

}  // namespace

Place in_outer_buffer(const CollectiveSchedule& call, const Place& place) {
  const bool callers = place.buffer == BufferRole::send || place.buffer == BufferRole::recv;
  if (!callers || !call.in_place[index_of(place.rank)]) return place;
  const Collective& c = call.collective;
  const int ranks = static_cast<int>(call.ranks.size());
  const bool in_send = send_bytes(c, place.rank, ranks) > recv_bytes(c, place.rank, ranks);
  Place outer = place;
  outer.buffer = in_send ? BufferRole::send : BufferRole::recv;
  if (outer.buffer != place.buffer) outer.offset += in_place_offset(c, place.rank);
  return outer;
}

BufferContents::Cells::iterator BufferContents::split(std::uint64_t at) {
  const auto after = cells_.lower_bound(at);
  if (after != cells_.end() && after->first == at) return after;
  if (after == cells_.begin()) return after;
  const auto cell = std::prev(after);
  if (cell->second.end <= at) return after;
  Cell rest = cell->second;
  cell->second.end = at;
  return cells_.emplace_hint(after, at, std::move(rest));
}

std::string BufferContents::between(int step, const char* does, int earlier, const char* did,
                                    std::uint64_t byte) const {
  return fmt::format("byte {} of {}: {} {} it, which {} {}: nothing orders them", byte, name_,
                     order_.text_of(step), does, order_.text_of(earlier), did);
}

std::string BufferContents::read(int step, std::uint64_t begin, std::uint64_t end,
                                 std::vector<ByteValue>& values) {
  const int lane = order_.steps()[index_of(step)].lane;
  std::uint64_t read = begin;
  split(begin);
  const auto last = split(end);
  for (auto cell = cells_.lower_bound(begin); read < end; ++cell) {
    if (cell == last || cell->first != read) {
      return fmt::format("byte {} of {}: {} reads what nothing has written", read, name_,
                         order_.text_of(step));
    }
    Cell& now = cell->second;
    if (!ordered(now.writer, step)) return between(step, "reads", now.writer, "writes", read);
    const auto same = std::find_if(now.readers.begin(), now.readers.end(), [&](int reader) {
      return order_.steps()[index_of(reader)].lane == lane;
    });
    if (same == now.readers.end()) {
      now.readers.push_back(step);
    } else if (order_.steps()[index_of(*same)].position < order_.steps()[index_of(step)].position) {
      *same = step;
    }
    values.push_back({read, now.end, now.value});
    read = now.end;
  }
  return "";
}

std::string BufferContents::write(int step, const ByteValue& value) {
  split(value.begin);
  split(value.end);
  auto cell = cells_.lower_bound(value.begin);
  while (cell != cells_.end() && cell->first < value.end) {
    const Cell& now = cell->second;
    if (!ordered(now.writer, step))
      return between(step, "writes", now.writer, "writes", cell->first);
    for (const int reader : now.readers) {
      if (!ordered(reader, step)) return between(step, "writes", reader, "reads", cell->first);
    }
    cell = cells_.erase(cell);
  }
  if (value.begin < value.end) cells_[value.begin] = {value.end, step, {}, value.value};
  return "";
}

namespace {

// Buffers of all ranks, and what the steps of all calls do to them, one after the other.
class Run {
 public:
  Run(const CheckedCalls& calls, const StepOrder& order) : calls_(calls), order_(order) {}

  std::string step(int number) {
    const OrderedStep& now = order_.steps()[index_of(number)];
    const Step* const one = order_.step_of(number);
    if (now.step < 0) return before_call(number, now);
    if (one == nullptr) return after_call(number, now);
    if (one->compute == ComputePart::before) return compute_before(number, now);
    if (one->rows) return multiply(number, now, *one->rows);
    if (now.item >= 0) {
      const StepItem& item = one->kernel.items[index_of(now.item)];
      const bool accesses = now.part == ItemPart::all || now.part == ItemPart::accesses;
      return !accesses || item.targets.empty() ? "" : sum(number, now, item.sources, item.targets);
    }
    std::string fault;
    for (std::size_t i = 0; fault.empty() && now.has_place_in_queue() && i < one->copies.size();
         ++i) {
      fault = sum(number, now, {one->copies[i].from}, {one->copies[i].to});
    }
    return fault;
  }

 private:
  using Key = std::tuple<const CollectiveSchedule*, int, BufferRole>;
  struct Located {
    BufferContents* buffer = nullptr;
    std::uint64_t begin = 0;
  };

  const CollectiveSchedule& call_of(const OrderedStep& step) const {
    return *calls_.order[index_of(step.call)];
  }

  std::uint64_t bytes_of(const CollectiveSchedule& call, BufferRole buffer, int rank) const {
    const int ranks = static_cast<int>(call.ranks.size());
    switch (buffer) {
      case BufferRole::send:
        return send_bytes(call.collective, rank, ranks);
      case BufferRole::recv:
        return recv_bytes(call.collective, rank, ranks);
      case BufferRole::slots:
        return call.ranks[index_of(rank)].slot_bytes;
      case BufferRole::scratch:
        return call.ranks[index_of(rank)].scratch_bytes;
      case BufferRole::incoming:
        break;
    }
    return call.ranks[index_of(rank)].incoming_bytes;
  }

  Located locate(const CollectiveSchedule& call, const Place& given) {
    const Place place = in_outer_buffer(call, given);
    const bool shared = place.buffer == BufferRole::slots && calls_.shared_memory;
    const Key key{shared ? nullptr : &call, place.rank, place.buffer};
    const auto found = buffers_.find(key);
    if (found != buffers_.end()) return {&found->second, place.offset};
    const std::string text = fmt::format("{} of rank {}", name(place.buffer), place.rank);
    return {&buffers_.emplace(key, BufferContents(text, order_)).first->second, place.offset};
  }

  std::string write_whole(int number, const OrderedStep& step, BufferRole buffer, int source) {
    const CollectiveSchedule& call = call_of(step);
    const std::uint64_t bytes = bytes_of(call, buffer, step.rank);
    const Located to = locate(call, {buffer, step.rank, 0, bytes});
    const auto shift = -static_cast<std::int64_t>(to.begin);
    return to.buffer->write(number, {to.begin, to.begin + bytes, {{source, shift}}});
  }

  // Where calls alternate the caller writes to the receive buffer when the next call sends. What is
  // multiplied within the call is not there before.
  std::string before_call(int number, const OrderedStep& step) {
    const CollectiveSchedule& call = call_of(step);
    const bool multiplied =
        call.ranks[index_of(step.rank)].multiplies_rows && reduces(call.collective.kind);
    std::string fault;
    if (!calls_.alternate) fault = write_whole(number, step, BufferRole::recv, Term::kPoison);
    if (!fault.empty()) return fault;
    return write_whole(number, step, BufferRole::send,
                       multiplied ? Term::kPoison : source_of(step.call, step.rank));
  }

  // Rows of a factor are read, which must be what the result has there; rows of partial sums are
  // what the rank sends.
  std::string multiply(int number, const OrderedStep& step, const StepRows& part) {
    const CollectiveSchedule& call = call_of(step);
    std::string fault = fault_of_place(number, call, part.place);
    if (!fault.empty()) return fault;
    if (!reduces(call.collective.kind)) {
      return fault_of_result(number, step, part.rows.first * row_bytes(call.collective),
                             part.place);
    }
    const Located at = locate(call, part.place);
    const std::uint64_t begin = part.rows.first * row_bytes(call.collective);
    std::vector<std::vector<ByteValue>> sums = {
        {{begin, begin + part.place.bytes, {{source_of(step.call, step.rank), 0}}}}};
    if (part.adds) {
      fault = at.buffer->read(number, at.begin, at.begin + part.place.bytes, sums.emplace_back());
    }
    if (fault.empty()) fault = write(number, step, sum_of(std::move(sums), at.begin), part.place);
    if (fault.empty() && part.place.buffer == BufferRole::recv && !part.adds)
      fault = count_writes(number, step, part.place);
    return fault;
  }

  // Makes what is sent, where calls alternate of what the last call has brought.
  std::string compute_before(int number, const OrderedStep& step) {
    if (calls_.alternate && step.call > 0) {
      const int last = step.call - 1;
      const CollectiveSchedule& call = *calls_.order[index_of(last)];
      const int ranks = static_cast<int>(call.ranks.size());
      for (const ByteValue& arrived : result_at(call.collective, step.rank, ranks)) {
        const Located at =
            locate(call, {BufferRole::recv, step.rank, arrived.begin, arrived.end - arrived.begin});
        const std::uint64_t end = at.begin + arrived.end - arrived.begin;
        std::vector<ByteValue> values;
        std::string fault = at.buffer->read(number, at.begin, end, values);
        if (fault.empty()) fault = at.buffer->write(number, {at.begin, end, {{Term::kPoison, 0}}});
        if (!fault.empty()) return fault;
      }
    }
    return write_whole(number, step, BufferRole::send, source_of(step.call, step.rank));
  }

  int source_of(int call, int rank) const {
    return call * static_cast<int>(calls_.order[index_of(call)]->ranks.size()) + rank;
  }

  // Writes the sum of the sources to the targets.
  std::string sum(int number, const OrderedStep& step, const std::vector<Place>& sources,
                  const std::vector<Place>& targets) {
    const CollectiveSchedule& call = call_of(step);
    std::vector<std::vector<ByteValue>> read;
    std::string fault = fault_of_sizes(number, call, sources, targets);
    for (std::size_t i = 0; fault.empty() && i < sources.size(); ++i) {
      const Located from = locate(call, sources[i]);
      fault =
          from.buffer->read(number, from.begin, from.begin + sources[i].bytes, read.emplace_back());
    }
    for (std::size_t i = 0; fault.empty() && i < targets.size(); ++i) {
      const bool adds = std::any_of(sources.begin(), sources.end(),
                                    [&](const Place& source) { return source == targets[i]; });
      fault = write(number, step, sum_of(read, locate(call, targets[i]).begin), targets[i]);
      if (fault.empty() && targets[i].buffer == BufferRole::recv && !adds) {
        fault = count_writes(number, step, targets[i]);
      }
    }
    return fault;
  }

  std::string write(int number, const OrderedStep& step, const std::vector<ByteValue>& values,
                    const Place& target) {
    const Located to = locate(call_of(step), target);
    std::string fault;
    for (std::size_t i = 0; fault.empty() && i < values.size(); ++i) {
      fault = to.buffer->write(number, values[i]);
    }
    return fault;
  }

  std::string fault_of_sizes(int number, const CollectiveSchedule& call,
                             const std::vector<Place>& sources,
                             const std::vector<Place>& targets) const {
    std::string fault;
    for (const auto* places : {&targets, &sources}) {
      for (const Place& place : *places) {
        if (fault.empty()) fault = fault_of_place(number, call, place);
        if (fault.empty() && place.bytes != targets.front().bytes) {
          fault = fmt::format("{} writes {} bytes from {}", order_.text_of(number),
                              targets.front().bytes, sources.front().bytes);
        }
      }
    }
    return fault;
  }

  std::string fault_of_place(int number, const CollectiveSchedule& call, const Place& place) const {
    const bool exists = place.rank >= 0 && index_of(place.rank) < call.ranks.size();
    if (exists && place.offset + place.bytes <= bytes_of(call, place.buffer, place.rank)) return "";
    return fmt::format("{} is outside the buffer: {}", order_.text_of(number),
                       duet::text_of(place));
  }

  // Each byte of a result is written once a call.
  std::string count_writes(int number, const OrderedStep& step, const Place& to) {
    if (to.bytes == 0) return "";
    auto& ranges = written_by_call_[{step.call, to.rank}];
    const auto after = ranges.lower_bound(to.offset);
    const bool meets_next = after != ranges.end() && after->first < to.offset + to.bytes;
    const bool meets_last = after != ranges.begin() && std::prev(after)->second > to.offset;
    if (meets_next || meets_last) {
      return fmt::format("{} writes a second time: {}", order_.text_of(number), duet::text_of(to));
    }
    ranges[to.offset] = to.offset + to.bytes;
    return "";
  }

  std::string after_call(int number, const OrderedStep& step) {
    const std::uint64_t bytes = bytes_of(call_of(step), BufferRole::recv, step.rank);
    return fault_of_result(number, step, 0, {BufferRole::recv, step.rank, 0, bytes});
  }

  // Reads what must be the collective's result from byte `first` of the receive buffer on.
  std::string fault_of_result(int number, const OrderedStep& step, std::uint64_t first,
                              const Place& place) {
    const CollectiveSchedule& call = call_of(step);
    const int ranks = static_cast<int>(call.ranks.size());
    for (const ByteValue& expected : result_at(call.collective, step.rank, ranks)) {
      const std::uint64_t begin = std::max(first, expected.begin);
      const std::uint64_t end = std::min(first + place.bytes, expected.end);
      if (begin >= end) continue;
      const Located at =
          locate(call, {place.buffer, step.rank, place.offset + begin - first, end - begin});
      std::vector<ByteValue> values;
      std::string fault = at.buffer->read(number, at.begin, at.begin + end - begin, values);
      if (!fault.empty()) return fault;
      Value wanted = expected.value;
      for (Term& term : wanted) {
        term.source = source_of(step.call, term.source);
        term.shift += distance(at.begin, begin);
      }
      for (const ByteValue& value : values) {
        if (value.value == wanted) continue;
        return fmt::format("{} of rank {} {} call {}: byte {} is {}, expected {}",
                           name(place.buffer), step.rank,
                           order_.step_of(number) == nullptr ? "after" : "in", step.call,
                           value.begin - at.begin + begin - first + place.offset, text_of(value),
                           text_of({value.begin, value.end, wanted}));
      }
    }
    return "";
  }

  std::string text_of(const ByteValue& value) const {
    std::string text;
    for (const Term& term : value.value) {
      const auto ranks = static_cast<int>(calls_.order.front()->ranks.size());
      const auto byte = static_cast<std::int64_t>(value.begin) + term.shift;
      if (!text.empty()) text += " + ";
      text += term.source == Term::kPoison
                  ? "what was there before the call"
                  : fmt::format("byte {} of what rank {} sends in call {}", byte,
                                term.source % ranks, term.source / ranks);
    }
    return text;
  }

  const CheckedCalls& calls_;
  const StepOrder& order_;
  std::map<Key, BufferContents> buffers_;
  std::map<std::pair<int, int>, std::map<std::uint64_t, std::uint64_t>> written_by_call_;
};

}  // namespace

std::string fault_of_contents(const CheckedCalls& calls, const StepOrder& order) {
  Run run(calls, order);
  for (const int step : order.sorted()) {
    std::string fault = run.step(step);
    if (!fault.empty()) return fault;
  }
  return "";
}

}  // namespace duet
