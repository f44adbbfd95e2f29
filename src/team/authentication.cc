#include "team/authentication.h"

#include <algorithm>
#include <charconv>

#include "core/packing.h"
#include "team/peer_user.h"
#include "team/secret.h"

namespace duet {
namespace {

// The fields of a hello frame.
enum : std::size_t { kKind, kIndex, kSize, kName, kNonce, kProof, kFields };

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 0) return std::nullopt;
  return value;
}

// Text from an unauthenticated connection may be printed on a terminal.
std::string plain(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return text;
}

std::string process_proof(const std::string& secret, const std::string& nonce, const Frame& hello) {
  return proof_of(
      secret, pack({"process", nonce, hello[kIndex], hello[kSize], hello[kName], hello[kNonce]}));
}

std::string hub_proof(const std::string& secret, const std::string& nonce, const Frame& hello) {
  return proof_of(secret, pack({"hub", nonce, hello[kNonce]}));
}

}  // namespace

Challenge::Challenge(std::string secret) : secret_(std::move(secret)), nonce_(make_secret()) {}

std::optional<Hello> Challenge::understood(const Frame& hello) {
  if (hello.size() != kFields || hello[kKind] != "hello") return std::nullopt;
  const auto index = whole_number(hello[kIndex]);
  const auto size = whole_number(hello[kSize]);
  if (!index || !size) return std::nullopt;
  return Hello{*index, *size, plain(hello[kName])};
}

bool Challenge::proven(const Frame& hello) const {
  return equal_proofs(hello[kProof], process_proof(secret_, nonce_, hello));
}

Frame Challenge::welcome(const Frame& hello) const {
  return {"welcome", hub_proof(secret_, nonce_, hello)};
}

Frame hello_frame(const std::string& secret, const std::string& nonce, const Hello& hello) {
  Frame frame{"hello", std::to_string(hello.index), std::to_string(hello.size), hello.name,
              make_secret()};
  frame.push_back(process_proof(secret, nonce, frame));
  return frame;
}

Joined join(const Socket& socket, const std::string& secret, const Hello& hello, double seconds) {
  const auto challenge = socket.receive_within(seconds, kMaxHandshakeBytes);
  if (!challenge || challenge->size() != 2 || challenge->front() != "challenge") {
    return {false, "", "who listens there does not greet as process 0 of a run does"};
  }
  if (secret.empty() && !peer_is_this_user(socket.descriptor())) {
    return {false, "another user listens there: expected DUET_TOKEN in all processes", ""};
  }
  const std::string& nonce = challenge->at(1);
  const Frame answer = hello_frame(secret, nonce, hello);
  socket.send(answer);
  const auto reply = socket.receive_within(seconds, kMaxHandshakeBytes);
  if (!reply || reply->size() != 2) return {false, "", "process 0 closed the connection"};
  if (reply->front() == "wrong") return {false, plain(reply->at(1)), ""};
  if (reply->front() != "welcome" ||
      !equal_proofs(reply->at(1), hub_proof(secret, nonce, answer))) {
    return {false, "who listens there does not know the run's secret (DUET_TOKEN)", ""};
  }
  return {true, "", ""};
}

}  // namespace duet
