// The ways an operation can end without a result. Exceptions end the operation; "not possible
// here" that a caller is expected to handle is the value Skipped, never a silent zero.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace duet {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Wrong input from the user. The message is one line that names what was expected; exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// A caller of the library broke a precondition (sizes that do not fit, a span of another machine).
class BadArgument : public Error {
 public:
  using Error::Error;
};

// A device, library or feature is not there; the message says why.
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

// A wait or call ended because another process failed or is gone; the cause is not here.
class PeerFailed : public Error {
 public:
  using Error::Error;
};

// The user asked to stop (Ctrl-C).
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

// Data is not what it should be: the measurement does not count.
class Mismatch : public Error {
 public:
  using Error::Error;
};

// Not possible here, with the reason in words.
struct Skipped {
  std::string reason;
};

}  // namespace duet
