#include "team/secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/error.h"

namespace duet {
namespace {

constexpr std::size_t kShortest = 16;  // characters: nobody finds it by trying
constexpr std::size_t kLongest = 4096;
constexpr const char* kHow = "openssl rand -hex 16 makes one";

std::string hex(const unsigned char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void require_private(const std::string& path, int file) {
  struct stat facts {};
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    throw UsageError(fmt::format("DUET_TOKEN_FILE={}: expected a file", path));
  }
  if (facts.st_uid != geteuid() && facts.st_uid != 0) {
    throw UsageError(fmt::format("DUET_TOKEN_FILE={}: expected a file of this user's", path));
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw UsageError(fmt::format(
        "DUET_TOKEN_FILE={}: expected a file that this user alone can read (chmod 600)", path));
  }
}

std::string text_of_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) {
    throw UsageError(fmt::format("DUET_TOKEN_FILE={}: expected a file that can be read: {}", path,
                                 std::strerror(errno)));
  }
  std::array<char, kLongest + 2> text;
  ssize_t length = 0;
  try {
    require_private(path, file);
    length = read(file, text.data(), text.size());
  } catch (...) {
    close(file);
    throw;
  }
  close(file);
  std::string secret(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  return secret;
}

}  // namespace

std::string find_secret() {
  const std::string path = variable("DUET_TOKEN_FILE");
  std::string secret = variable("DUET_TOKEN");
  if (path.empty() && secret.empty()) return "";
  if (!path.empty() && !secret.empty()) {
    throw UsageError("DUET_TOKEN and DUET_TOKEN_FILE are set: expected one of them");
  }
  if (!path.empty()) secret = text_of_file(path);
  if (secret.size() < kShortest || secret.size() > kLongest) {
    throw UsageError(fmt::format("{}: expected {} to {} characters, not {}: {}",
                                 path.empty() ? "DUET_TOKEN" : "DUET_TOKEN_FILE=" + path, kShortest,
                                 kLongest, secret.size(), kHow));
  }
  return secret;
}

std::string make_secret() {
  std::array<unsigned char, 16> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(fmt::format("no random numbers for the run's secret: {}", std::strerror(errno)));
  }
  return hex(bytes.data(), bytes.size());
}

std::string proof_of(const std::string& secret, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned count = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(),
           &count) == nullptr) {
    throw Error("libcrypto has no HMAC-SHA256 here");
  }
  return hex(bytes.data(), count);
}

bool equal_proofs(const std::string& one, const std::string& other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace duet
