// SQLite, opened at run time. Only the functions that Duet uses are declared, after SQLite's C
// interface, so that neither building nor starting needs it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace duet {

using SqlValue = std::variant<std::string, double, std::int64_t>;

// A database in a file. Move-only.
class Database {
 public:
  // Opens a file, or creates it; `path` is always one's. Throws Unavailable without the library,
  // UsageError if the file cannot be opened.
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs one statement, whose ?1, ?2 ... are `values`, and returns its rows. Waits up to ten
  // seconds for another process that writes. Throws UsageError with SQLite's message.
  std::vector<std::vector<SqlValue>> run(const std::string& sql,
                                         const std::vector<SqlValue>& values = {});

 private:
  std::string path_;
  void* handle_ = nullptr;  // sqlite3*
};

// Everything between construction and commit() happens, or nothing of it.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace duet
