#include "team/secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/message_fixture.h"
#include "team/launch.h"

namespace duet {
namespace {

class Secret : public ::testing::Test {
 protected:
  Secret() : path_(::testing::TempDir() + "duet-secret-" + std::to_string(getpid())) { clear(); }
  ~Secret() override {
    clear();
    unlink(path_.c_str());
  }

  void store(const std::string& text, mode_t mode) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), mode);
    setenv("DUET_TOKEN_FILE", path_.c_str(), 1);
  }

  std::string refusal() {
    return message_of<UsageError>([] { find_secret(); });
  }

  std::string path_;

 private:
  void clear() {
    for (const char* name :
         {"DUET_TOKEN", "DUET_TOKEN_FILE", "MASTER_ADDR", "RANK", "WORLD_SIZE"}) {
      unsetenv(name);
    }
  }
};

const std::string kText = "0123456789abcdef0123456789abcdef";

TEST_F(Secret, IsOfTheEnvironmentOrAFile) {
  EXPECT_EQ(find_secret(), "");
  setenv("DUET_TOKEN", kText.c_str(), 1);
  EXPECT_EQ(find_secret(), kText);
  store(kText + "\n", 0600);
  EXPECT_TRUE(contains(refusal(), "expected one of them"));
  unsetenv("DUET_TOKEN");
  EXPECT_EQ(find_secret(), kText);
}

TEST_F(Secret, IsNotShort) {
  setenv("DUET_TOKEN", "secret", 1);
  EXPECT_TRUE(contains(refusal(), "expected 16 to 4096 characters, not 6"));
  unsetenv("DUET_TOKEN");
  store("\n", 0600);
  EXPECT_TRUE(contains(refusal(), "expected 16 to 4096 characters, not 0"));
}

TEST_F(Secret, FileIsOfOneUser) {
  store(kText, 0640);
  EXPECT_TRUE(contains(refusal(), "this user alone can read"));
  store(kText, 0604);
  EXPECT_TRUE(contains(refusal(), "this user alone can read"));
  setenv("DUET_TOKEN_FILE", "/nowhere/token", 1);
  EXPECT_TRUE(contains(refusal(), "expected a file that can be read"));
  setenv("DUET_TOKEN_FILE", "/dev/zero", 1);
  EXPECT_TRUE(contains(refusal(), "expected a file"));
}

// RFC 4231, test case 2.
TEST_F(Secret, ProofIsHmacSha256) {
  const std::string proof = proof_of("Jefe", "what do ya want for nothing?");
  EXPECT_EQ(proof, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_TRUE(equal_proofs(proof, proof));
  EXPECT_FALSE(equal_proofs(proof, proof.substr(1)));
  EXPECT_NE(proof, proof_of("", "what do ya want for nothing?"));
  EXPECT_NE(make_secret(), make_secret());
}

TEST_F(Secret, IsExpectedWhereOthersReachTheAddress) {
  setenv("RANK", "0", 1);
  setenv("WORLD_SIZE", "2", 1);
  for (const char* address : {"127.0.0.1", "localhost"}) {
    setenv("MASTER_ADDR", address, 1);
    EXPECT_EQ(find_launch().secret, "") << address;
  }
  for (const char* address : {"192.0.2.1", "0.0.0.0", "name.invalid"}) {
    setenv("MASTER_ADDR", address, 1);
    unsetenv("DUET_TOKEN");
    EXPECT_THROW(find_launch(), UsageError) << address;
    setenv("DUET_TOKEN", kText.c_str(), 1);
    EXPECT_EQ(find_launch().secret, kText) << address;
  }
}

}  // namespace
}  // namespace duet
