// How the ranks of a column go on without a rail. One of them notices that it is lost:
//
//   closes it ------- closed -------> closes it as well
//             <------ closed --------
//             ------ question ------> (nothing can come over the rail any more)
//             <------ answer -------- which of these writes had come?
//   the others go over other rails
//
// So nothing is written twice, and nothing comes late into memory that is in use again. A call that
// has a write whose arrival is not known does not end.
//
// The rail of a question or an answer may be lost as well; it is then written again, and may come
// twice. So what is written stays as it is while a write of it is under way, one write at a time
// goes to a node, and its note has its number: a note that comes late is not of what is there now.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "collectives/nodes/wire_numbers.h"
#include "fabric/region.h"
#include "fabric/traffic.h"

namespace duet {

// A write that was under way on a lost rail.
struct UnknownWrite {
  std::uint32_t immediate = 0;
  std::function<void(bool arrived)> resolved;  // called once, by progress()
};

// For one thread, which owns rails and traffic. Peers are nodes.
class Failover : private Sender {
 public:
  // Of this node's rank of the column. Rails and traffic must outlive it.
  Failover(RailSet& rails, Traffic& traffic, int node, int nodes);

  // Its memory, for peers; all() gets that of all, by node, before anything is sent.
  std::string descriptors() const { return region_.descriptors(); }
  void import_all(const std::vector<std::string>& all);

  // Whether a peer's write with this immediate value has come.
  std::function<bool(std::uint32_t immediate)> has_come;
  std::function<std::string(int node)> peer_name;  // for messages

  // A write of a few bytes, which change nothing at the peer, with this immediate value.
  void tell(int peer, std::uint32_t immediate, Sender& sender, std::uint64_t token);
  // Of a write to the peer, on a rail that is lost by now.
  void ask(int peer, UnknownWrite write);
  // A peer's note has come.
  void arrived(const Note& note);
  // One non-blocking step; whether it found anything to do. Throws Error where no rail is left.
  bool progress();

  // Why this rank found rails lost, of those that a peer found lost first none.
  std::vector<std::string> reasons() const;

 private:
  static constexpr std::size_t kMostAsked = 62;
  struct Question {
    std::uint32_t number = 0, count = 0;
    std::uint32_t immediates[kMostAsked] = {};
  };
  struct Answer {
    std::uint64_t number = 0;
    std::uint64_t come = 0;  // a bit for each
  };
  // What this rank writes from and peers write to, one for each node. `sent` and `come` differ so
  // that a question to a node and one from it do not meet.
  struct Slot {
    Question question_sent, question_come;
    Answer answer_sent, answer_come;
    std::uint64_t nothing_sent = 0, nothing_come = 0;
  };
  // A question or an answer: whether it is to be written, and whether a write of it is under way.
  struct Message {
    bool due = false, under_way = false;
  };
  struct Peer {
    std::set<int> closed;  // rails
    std::deque<UnknownWrite> unknown;
    std::vector<UnknownWrite> asked;  // in the question that is not yet answered
    std::uint32_t questions = 0;
    Question to_answer;  // the last one that came from it
    Message question, answer;
  };

  static std::uint64_t offset_of(int node, std::size_t within) {
    return static_cast<std::uint64_t>(node) * sizeof(Slot) + within;
  }
  Slot& slot(int node) { return slots_[static_cast<std::size_t>(node)]; }
  Peer& peer(int node) { return peers_[static_cast<std::size_t>(node)]; }
  struct Bytes {  // of a Slot
    std::size_t from = 0, to = 0, count = 0;
  };
  void write(int peer, const Bytes& bytes, std::uint32_t immediate, Sender& sender,
             std::uint64_t token);
  void send(int peer, const Note& note);
  bool tell_losses();
  bool close_what_peers_lost();
  bool settled(const Peer& peer) const;
  bool send_due(int node);
  void fill_question(int node);
  void fill_answer(int node);
  void take_question(const Note& note);
  void take_answer(const Note& note);
  Message& message_of(std::uint64_t token);
  void ended(std::uint64_t token) override;
  bool lost(int rail, const std::vector<std::uint64_t>& tokens) override;

  RailSet& rails_;
  Traffic& traffic_;
  int node_;
  std::vector<Slot> slots_;  // by node
  Region region_;
  std::vector<Peer> peers_;           // by node
  std::set<int> told_;                // lost rails of which peers know
  std::map<int, int> lost_by_peers_;  // rails that are still to be closed, and by whom
  std::set<int> given_up_;            // rails that a peer found lost first
};

}  // namespace duet
