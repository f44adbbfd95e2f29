#include "collectives/nodes/failover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/error.h"

namespace duet {

Failover::Failover(RailSet& rails, Traffic& traffic, int node, int nodes)
    : rails_(rails),
      traffic_(traffic),
      node_(node),
      slots_(static_cast<std::size_t>(nodes)),
      region_(rails,
              {nullptr, reinterpret_cast<std::byte*>(slots_.data()), slots_.size() * sizeof(Slot),
               MemoryKind::pageable},
              node),
      peers_(static_cast<std::size_t>(nodes)) {
  if (nodes <= kMostNodes && rails.size() <= 1 << Note::kRailBits) return;
  throw Unavailable(
      fmt::format("over rails at most {} nodes and {} rails", kMostNodes, 1 << Note::kRailBits));
}

void Failover::import_all(const std::vector<std::string>& all) { region_.import_all(all); }

void Failover::write(int peer, const Bytes& bytes, std::uint32_t immediate, Sender& sender,
                     std::uint64_t token) {
  const int rail = rails_.all_living().at(0);
  RailPost post;
  post.call = RailCall::write_imm;
  post.peer = peer;
  post.data = region_.data() + offset_of(peer, bytes.from);
  post.bytes = bytes.count;
  post.memory = region_.memory(rail);
  post.immediate = immediate;
  post.remote_offset = offset_of(node_, bytes.to);
  post.remote = region_.remote(peer, rail);
  traffic_.queue(rail, post, sender, token, true);
}

void Failover::tell(int peer, std::uint32_t immediate, Sender& sender, std::uint64_t token) {
  write(peer, {offsetof(Slot, nothing_sent), offsetof(Slot, nothing_come), sizeof(std::uint64_t)},
        immediate, sender, token);
}

void Failover::send(int peer, const Note& note) {
  Bytes bytes{offsetof(Slot, nothing_sent), offsetof(Slot, nothing_come), sizeof(std::uint64_t)};
  if (note.kind == NoteKind::question) {
    bytes = {offsetof(Slot, question_sent), offsetof(Slot, question_come), sizeof(Question)};
  } else if (note.kind == NoteKind::answer) {
    bytes = {offsetof(Slot, answer_sent), offsetof(Slot, answer_come), sizeof(Answer)};
  }
  const auto to = static_cast<std::uint64_t>(peer);
  write(peer, bytes, note.value(), *this, to << 32 | note.value());
}

void Failover::ask(int node, UnknownWrite write) { peer(node).unknown.push_back(std::move(write)); }

bool Failover::progress() {
  bool found = close_what_peers_lost();
  found = tell_losses() || found;
  if (told_.empty()) return found;
  for (int node = 0; node < static_cast<int>(peers_.size()); ++node) {
    Peer& each = peer(node);
    if (node == node_ || !settled(each)) continue;
    for (const NoteKind kind : std::exchange(each.again, {})) {
      send(node, {kind, 0, node_});
      found = true;
    }
    if (each.unknown.empty() || !each.asked.empty()) continue;
    send_question(node);
    found = true;
  }
  return found;
}

bool Failover::close_what_peers_lost() {
  const auto lost = std::exchange(lost_by_peers_, {});
  for (const auto& [rail, by] : lost) {
    if (!rails_.living(rail)) continue;
    given_up_.insert(rail);
    traffic_.give_up(rail, peer_name(by) + " has lost it");
  }
  return !lost.empty();
}

bool Failover::tell_losses() {
  bool found = false;
  for (const auto& [rail, reason] : traffic_.losses()) {
    if (!told_.insert(rail).second) continue;
    found = true;
    for (int node = 0; node < static_cast<int>(peers_.size()); ++node) {
      if (node != node_) send(node, {NoteKind::closed, rail, node_});
    }
  }
  return found;
}

// Whether nothing can come to the peer any more over a rail that this rank has lost.
bool Failover::settled(const Peer& peer) const {
  return std::includes(peer.closed.begin(), peer.closed.end(), told_.begin(), told_.end());
}

void Failover::send_question(int node) {
  Peer& each = peer(node);
  Question& question = slot(node).question_sent;
  question.number = ++each.questions;
  question.count = 0;
  while (question.count < kMostAsked && !each.unknown.empty()) {
    question.immediates[question.count++] = each.unknown.front().immediate;
    each.asked.push_back(std::move(each.unknown.front()));
    each.unknown.pop_front();
  }
  send(node, {NoteKind::question, 0, node_});
}

void Failover::answer(int node) {
  const Question& question = slot(node).question_come;
  Answer& answer = slot(node).answer_sent;
  answer = {question.number, 0};
  for (std::size_t i = 0; i < std::min<std::size_t>(question.count, kMostAsked); ++i) {
    if (has_come(question.immediates[i])) answer.come |= std::uint64_t{1} << i;
  }
  send(node, {NoteKind::answer, 0, node_});
}

// A question that a lost rail had under way may be answered twice.
void Failover::take_answer(int node) {
  const Answer& answer = slot(node).answer_come;
  if (answer.number != peer(node).questions) return;
  const std::vector<UnknownWrite> asked = std::exchange(peer(node).asked, {});
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i].resolved((answer.come >> i & 1) != 0);
}

void Failover::arrived(const Note& note) {
  if (note.node >= static_cast<int>(peers_.size())) throw Error("a note of an unknown node");
  switch (note.kind) {
    case NoteKind::closed:
      peer(note.node).closed.insert(note.rail);
      lost_by_peers_.emplace(note.rail, note.node);
      return;
    case NoteKind::question:
      return answer(note.node);
    case NoteKind::answer:
      return take_answer(note.node);
  }
}

bool Failover::lost(int, const std::vector<std::uint64_t>& tokens) {
  for (const std::uint64_t token : tokens) {
    const int to = static_cast<int>(token >> 32);
    const Note note = Note::of(static_cast<std::uint32_t>(token));
    if (note.kind == NoteKind::closed) {
      send(to, note);
    } else {
      peer(to).again.push_back(note.kind);
    }
  }
  return true;
}

std::vector<std::string> Failover::reasons() const {
  std::vector<std::string> reasons;
  for (const auto& [rail, reason] : traffic_.losses()) {
    if (given_up_.count(rail) == 0) reasons.push_back(reason);
  }
  return reasons;
}

}  // namespace duet
