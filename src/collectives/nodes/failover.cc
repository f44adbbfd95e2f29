#include "collectives/nodes/failover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/error.h"

namespace duet {
namespace {

std::uint64_t token_of(int to, const Note& note) {
  return static_cast<std::uint64_t>(to) << 32 | note.value();
}

int node_of(std::uint64_t token) { return static_cast<int>(token >> 32); }
Note note_of(std::uint64_t token) { return Note::of(static_cast<std::uint32_t>(token)); }

}  // namespace

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
  if (nodes <= kMostNodes && rails.size() <= kMostRails) return;
  throw Unavailable(
      fmt::format("over rails at most {} nodes and {} rails", kMostNodes, kMostRails));
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
  write(peer, bytes, note.value(), *this, token_of(peer, note));
}

void Failover::ask(int node, UnknownWrite write) { peer(node).unknown.push_back(std::move(write)); }

bool Failover::progress() {
  bool found = close_what_peers_lost();
  found = tell_losses() || found;
  if (told_.empty()) return found;
  for (int node = 0; node < static_cast<int>(peers_.size()); ++node) {
    if (node != node_ && settled(peer(node))) found = send_due(node) || found;
  }
  return found;
}

bool Failover::send_due(int node) {
  Peer& each = peer(node);
  if (!each.unknown.empty() && each.asked.empty() && !each.question.under_way) fill_question(node);
  if (each.answer.due && !each.answer.under_way) fill_answer(node);
  bool found = false;
  const auto send_message = [&](Message& message, NoteKind kind, std::uint32_t number) {
    if (!message.due || message.under_way) return;
    message = {false, true};
    send(node, {kind, number % Note::kSubjects, node_});
    found = true;
  };
  send_message(each.question, NoteKind::question, each.questions);
  send_message(each.answer, NoteKind::answer, each.to_answer.number);
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
      if (node != node_) send(node, {NoteKind::closed, static_cast<std::uint32_t>(rail), node_});
    }
  }
  return found;
}

// Whether nothing can come to the peer any more over a rail that this rank has lost.
bool Failover::settled(const Peer& peer) const {
  return std::includes(peer.closed.begin(), peer.closed.end(), told_.begin(), told_.end());
}

void Failover::fill_question(int node) {
  Peer& each = peer(node);
  Question& question = slot(node).question_sent;
  question.number = ++each.questions;
  question.count = 0;
  while (question.count < kMostAsked && !each.unknown.empty()) {
    question.immediates[question.count++] = each.unknown.front().immediate;
    each.asked.push_back(std::move(each.unknown.front()));
    each.unknown.pop_front();
  }
  each.question.due = true;
}

void Failover::fill_answer(int node) {
  const Question& question = peer(node).to_answer;
  Answer answer{question.number, 0};
  for (std::size_t i = 0; i < std::min<std::size_t>(question.count, kMostAsked); ++i) {
    if (has_come(question.immediates[i])) answer.come |= std::uint64_t{1} << i;
  }
  slot(node).answer_sent = answer;
}

// A question is answered once. What is there is whole: the next one is written after this one's
// answer.
void Failover::take_question(const Note& note) {
  const Question& question = slot(note.node).question_come;
  Peer& from = peer(note.node);
  if (question.number == from.to_answer.number) return;
  if (question.number % Note::kSubjects != note.subject) return;
  from.to_answer = question;
  from.answer.due = true;
}

void Failover::take_answer(const Note& note) {
  Peer& from = peer(note.node);
  const Answer& answer = slot(note.node).answer_come;
  if (answer.number != from.questions || answer.number % Note::kSubjects != note.subject) return;
  const std::vector<UnknownWrite> asked = std::exchange(from.asked, {});
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i].resolved((answer.come >> i & 1) != 0);
}

void Failover::arrived(const Note& note) {
  if (note.node >= static_cast<int>(peers_.size())) throw Error("a note of an unknown node");
  switch (note.kind) {
    case NoteKind::closed: {
      const auto rail = static_cast<int>(note.subject);
      peer(note.node).closed.insert(rail);
      lost_by_peers_.emplace(rail, note.node);
      return;
    }
    case NoteKind::question:
      return take_question(note);
    case NoteKind::answer:
      return take_answer(note);
  }
}

Failover::Message& Failover::message_of(std::uint64_t token) {
  Peer& to = peer(node_of(token));
  return note_of(token).kind == NoteKind::question ? to.question : to.answer;
}

void Failover::ended(std::uint64_t token) {
  if (note_of(token).kind != NoteKind::closed) message_of(token).under_way = false;
}

bool Failover::lost(int, const std::vector<std::uint64_t>& tokens) {
  for (const std::uint64_t token : tokens) {
    if (note_of(token).kind == NoteKind::closed) {
      send(node_of(token), note_of(token));
    } else {
      message_of(token) = {true, false};
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
