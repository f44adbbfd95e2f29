#include "team/authentication.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/error.h"
#include "core/message_fixture.h"
#include "team/socket.h"

namespace duet {
namespace {

const Hello kHello{1, 2, "process 1 (a test's)"};

// What a process that knows `secret` answers to a challenge, and what it makes of the welcome.
struct Answer {
  Frame hello;
  Joined joined;
};
Answer answer_to(const Challenge& challenge, const std::string& secret, const Frame& welcome = {}) {
  const Socket listener = Socket::listen(0);
  std::string reason;
  const Socket process = Socket::connect("127.0.0.1", listener.port(), reason);
  const Socket hub = listener.accept();
  Answer answer;
  std::thread joining([&] { answer.joined = join(process, secret, kHello, 10); });
  hub.send(challenge.frame());
  answer.hello = hub.receive(kMaxHandshakeBytes).value();
  hub.send(welcome.empty() ? challenge.welcome(answer.hello) : welcome);
  joining.join();
  return answer;
}

TEST(Handshake, BothEndsKnowTheSecret) {
  const Challenge challenge("the run's secret");
  const Answer answer = answer_to(challenge, "the run's secret");
  EXPECT_TRUE(answer.joined.welcome);
  EXPECT_TRUE(challenge.proven(answer.hello));
  const auto hello = Challenge::understood(answer.hello);
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->index, 1);
  EXPECT_EQ(hello->size, 2);
  EXPECT_EQ(hello->name, kHello.name);
}

TEST(Handshake, NothingSentTellsTheSecret) {
  const Challenge challenge("the run's secret");
  const Answer answer = answer_to(challenge, "the run's secret");
  for (const Frame& frame : {challenge.frame(), answer.hello, challenge.welcome(answer.hello)}) {
    EXPECT_EQ(packed_frame(frame).find("the run's secret"), std::string::npos);
  }
}

TEST(Handshake, AnotherSecretIsNoticedAtBothEnds) {
  const Challenge challenge("the run's secret");
  const Answer answer = answer_to(challenge, "another run's");
  EXPECT_FALSE(challenge.proven(answer.hello));
  EXPECT_FALSE(answer.joined.welcome);
  EXPECT_TRUE(contains(answer.joined.refused, "does not know the run's secret"));
}

TEST(Handshake, AnEarlierHelloProvesNothing) {
  const Challenge challenge("the run's secret");
  const Answer earlier = answer_to(challenge, "the run's secret");
  const Challenge next("the run's secret");
  EXPECT_FALSE(next.proven(earlier.hello));
  EXPECT_FALSE(
      answer_to(next, "the run's secret", challenge.welcome(earlier.hello)).joined.welcome);
}

TEST(Handshake, WhatAHelloSaysIsProven) {
  const Challenge challenge("the run's secret");
  const Frame hello = answer_to(challenge, "the run's secret").hello;
  for (std::size_t word = 1; word < hello.size(); ++word) {
    Frame changed = hello;
    changed[word].back() = changed[word].back() == '0' ? '1' : '0';
    EXPECT_FALSE(challenge.proven(changed)) << "word " << word;
  }
}

TEST(Handshake, OtherFramesAreNoHello) {
  const Challenge challenge("");
  const Frame hello = answer_to(challenge, "").hello;
  for (const char* index : {"", "-1", "1x", " 1", "99999999999"}) {
    Frame changed = hello;
    changed[1] = index;
    EXPECT_FALSE(Challenge::understood(changed)) << index;
  }
  EXPECT_FALSE(Challenge::understood({}));
  EXPECT_FALSE(Challenge::understood({"hello", "", "1", "2", "process 1"}));
  Frame escape = hello;
  escape[3] = "\x1b[2J";
  EXPECT_EQ(Challenge::understood(escape)->name, "?[2J");
}

TEST(Listeners, AreAtTheAddressAlone) {
  const Listeners at = listen_at("127.0.0.2", 0, true);
  EXPECT_FALSE(at.everywhere);
  const int port = at.sockets.front().port();
  std::string reason;
  EXPECT_TRUE(Socket::connect("127.0.0.2", port, reason).open());
  EXPECT_FALSE(Socket::connect("127.0.0.1", port, reason).open());
}

// 192.0.2.0/24 is nobody's (RFC 5737).
TEST(Listeners, AreEverywhereOnlyWithASecret) {
  EXPECT_TRUE(listen_at("192.0.2.1", 0, true).everywhere);
  EXPECT_TRUE(contains(message_of<UsageError>([&] { listen_at("192.0.2.1", 0, false); }),
                       "or DUET_TOKEN to listen on all"));
}

}  // namespace
}  // namespace duet
