#include "collectives/schedule/printed_form.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace duet {
namespace {

using Json = nlohmann::ordered_json;

class PrintedForm {
 public:
  PrintedForm(const CollectiveSchedule& schedule, bool shared)
      : all_(schedule), prefix_(shared ? "/" : "") {}

  Json print(const std::string& title) {
    Json form;
    form["name"] = title;
    form["ranks"] = all_.ranks.size();
    form["collective"] = collective();
    form["buffers"] = buffers();
    for (const RankSchedule& rank : all_.ranks) {
      ends_.clear();
      for (const Step& step : rank.steps) add_step(rank, step);
    }
    form["semaphores"] = std::move(semaphores_);
    form["steps"] = std::move(steps_);
    return form;
  }

 private:
  std::string buffer_name(BufferRole buffer, int rank) const {
    return fmt::format("{}{}@{}", buffer == BufferRole::slots ? prefix_ : "", name(buffer), rank);
  }

  int ranks() const { return static_cast<int>(all_.ranks.size()); }

  Json collective() const {
    const Collective& c = all_.collective;
    const std::uint64_t size = size_of(c.dtype);
    Json json{{"kind", name(c.kind)}, {"type", name(c.dtype)}, {"count", c.count * size}};
    json["root"] = c.root;
    json["counts"] = Json::array();
    for (const std::uint64_t count : c.counts) json["counts"].push_back(count * size);
    return json;
  }

  // In place the smaller of both lies in the larger one.
  Json buffers() const {
    Json json = Json::object();
    for (const RankSchedule& each : all_.ranks) {
      const std::uint64_t sent = send_bytes(all_.collective, each.rank, ranks());
      const std::uint64_t received = recv_bytes(all_.collective, each.rank, ranks());
      Json send{{"rank", each.rank}, {"bytes", sent}, {"role", "send"}};
      Json recv{{"rank", each.rank}, {"bytes", received}, {"role", "recv"}};
      if (all_.in_place[index_of(each.rank)]) {
        const BufferRole outer = sent > received ? BufferRole::send : BufferRole::recv;
        Json& inner = outer == BufferRole::send ? recv : send;
        inner["in"] = buffer_name(outer, each.rank);
        inner["at"] = sent == received ? 0 : in_place_offset(all_.collective, each.rank);
      }
      json[buffer_name(BufferRole::send, each.rank)] = std::move(send);
      json[buffer_name(BufferRole::recv, each.rank)] = std::move(recv);
      for (const auto& [buffer, bytes] : {std::pair{BufferRole::slots, each.slot_bytes},
                                          {BufferRole::scratch, each.scratch_bytes},
                                          {BufferRole::incoming, each.incoming_bytes}}) {
        if (bytes == 0) continue;
        json[buffer_name(buffer, each.rank)] =
            Json{{"rank", each.rank}, {"bytes", bytes}, {"role", ""}};
      }
    }
    return json;
  }

  Json names_of(const RankSchedule& rank, const std::vector<SemaphoreAt>& list) {
    Json names = Json::array();
    for (const SemaphoreAt& each : list) {
      const SemaphoreGroup& group = rank.semaphores[index_of(each.group)];
      std::string text = fmt::format("{}{}/{}@{}", prefix_, each.group, group.name, each.owner);
      if (group.for_every_rank) text += fmt::format("<{}", each.peer);
      if (group.count > 1) text += fmt::format("[{}]", each.index);
      semaphores_[text] = Json{{"initial", group.initial}, {"counts", group.counts}};
      names.push_back(std::move(text));
    }
    return names;
  }

  Json spans_of(const std::vector<Place>& places) const {
    Json spans = Json::array();
    for (const Place& place : places) {
      if (place.bytes == 0) continue;
      spans.push_back({buffer_name(place.buffer, place.rank), place.offset, place.bytes});
    }
    return spans;
  }

  using Parts = std::vector<std::pair<const char*, Json>>;

  // Parts without contents are left out. Returns the step's number.
  int add(int rank, const std::string& lane, Parts parts) {
    const int id = static_cast<int>(steps_.size());
    Json step{{"id", id}, {"rank", rank}, {"lane", lane}};
    for (auto& [name, value] : parts) {
      if (!value.empty()) step[name] = std::move(value);
    }
    steps_.push_back(std::move(step));
    return id;
  }

  static std::string lane_name(const Step& step) {
    if (step.lane == 0) return "main";
    return fmt::format("{} {}", step.by_wire ? "message" : "lane", step.lane);
  }

  // A printed step makes one copy.
  void add_step(const RankSchedule& rank, const Step& step) {
    const std::string lane = lane_name(step);
    Json after = Json::array();
    for (const auto* list : {&step.after, &step.after_for_speed}) {
      for (const int earlier : *list) after.push_back(ends_[index_of(earlier)]);
    }
    Parts parts = {{"after", after}, {"waits", names_of(rank, step.waits)}};
    if (!step.rule.empty()) parts.emplace_back("tag", step.rule);
    for (std::size_t copy = 0; copy < step.copies.size(); ++copy) {
      if (copy > 0) add(rank.rank, lane, std::exchange(parts, {}));
      parts.emplace_back("reads", spans_of({step.copies[copy].from}));
      parts.emplace_back("writes", spans_of({step.copies[copy].to}));
    }
    int end = -1;
    if (!step.kernel.is_none()) {
      end = add_kernel(rank, step, add(rank.rank, lane, std::exchange(parts, {})));
    }
    parts.emplace_back("signals", names_of(rank, step.signals));
    if (end < 0 || !step.signals.empty()) end = add(rank.rank, lane, std::move(parts));
    ends_.push_back(end);
  }

  // `launch`: the step that launches it. Returns its end.
  int add_kernel(const RankSchedule& rank, const Step& step, int launch) {
    const std::string lane = lane_name(step), inner = lane + ", kernel";
    const auto& barriers = step.kernel.barriers;
    const Json ready = Json::array({launch});
    int before = add(rank.rank, inner, {{"after", ready}, {"inner", true}});
    if (barriers && barriers->opens) before = add_barrier(rank, *barriers, inner);
    Json ends = Json::array({before});
    int number = 0;
    for (const StepItem& item : step.kernel.items) {
      const std::string own = barriers ? fmt::format("{}, item {}", inner, number++) : inner;
      const Json after = barriers ? Json::array({before}) : Json::array();
      ends.push_back(add(rank.rank, own,
                         {{"after", after},
                          {"waits", names_of(rank, item.waits)},
                          {"reads", spans_of(item.sources)},
                          {"writes", spans_of(item.targets)},
                          {"signals", names_of(rank, item.signals)},
                          {"inner", true}}));
    }
    if (barriers && barriers->closes) {
      before = add(rank.rank, inner, {{"after", ends}, {"inner", true}});
      ends = Json::array({add_barrier(rank, *barriers, inner)});
    }
    return add(rank.rank, lane, {{"after", ends}, {"inner", true}});
  }

  int add_barrier(const RankSchedule& rank, const KernelBarriers& barriers,
                  const std::string& inner) {
    add(rank.rank, inner,
        {{"signals", names_of(rank, barrier_signals(rank, barriers))}, {"inner", true}});
    return add(rank.rank, inner,
               {{"waits", names_of(rank, barrier_waits(rank, barriers))}, {"inner", true}});
  }

  const CollectiveSchedule& all_;
  const std::string prefix_;
  Json semaphores_ = Json::object();
  Json steps_ = Json::array();
  std::vector<int> ends_;  // by step of the rank
};

}  // namespace

nlohmann::ordered_json printed_form(const CollectiveSchedule& schedule, const std::string& title,
                                    bool shared) {
  return PrintedForm(schedule, shared).print(title);
}

}  // namespace duet
