// The ways an operation can end without a result. Exceptions end the operation. If an operation is
// not possible here and its caller is expected to handle that, the result is the value Skipped.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace duet {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Wrong input from the user; exit code 2. The message is one line that says what was expected.
class UsageError : public Error {
 public:
  using Error::Error;
};

// A caller of the library violated a precondition (wrong sizes, a span of another machine).
class BadArgument : public Error {
 public:
  using Error::Error;
};

// A device, library or feature is missing; the message says why.
class Unavailable : public Error {
 public:
  using Error::Error;
};

class OutOfMemory : public Error {
 public:
  using Error::Error;
};

// A wait passed its deadline; the message says what it waited for.
class Timeout : public Error {
 public:
  using Error::Error;
};

// A wait or call ended because another process failed or died: the cause is in that process.
class PeerFailed : public Error {
 public:
  using Error::Error;
};

// The user asked to stop (Ctrl-C).
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

// The reader of standard output has gone (`| head`): a program ends without a word, as others do.
class ReaderGone : public Error {
 public:
  ReaderGone() : Error("standard output: its reader has gone") {}
};

// An output has wrong contents: the measurement does not count.
class Mismatch : public Error {
 public:
  using Error::Error;
};

// Not possible here, with the reason in words.
struct Skipped {
  std::string reason;
};

}  // namespace duet
