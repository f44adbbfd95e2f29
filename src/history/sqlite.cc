#include "history/sqlite.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/error.h"
#include "core/module.h"

namespace duet {
namespace {

// Constants of sqlite3.h.
constexpr int kOk = 0, kRow = 100, kDone = 101;
constexpr int kReadWriteCreate = 0x2 | 0x4;
constexpr int kIntegerColumn = 1, kFloatColumn = 2;

constexpr int kBusyMilliseconds = 10000;

// The library's functions, in its own names.
struct Sqlite {
  using Destructor = void (*)(void*);

  Sqlite() : library({"libsqlite3.so.0"}) {}

  template <typename Function>
  void find(Function& function, const char* name) const {
    function = library.function<Function>(name);
  }

  // Opened once per process. Throws Unavailable.
  static const Sqlite& instance() {
    static const Sqlite sqlite = [] {
      try {
        Sqlite found;
        found.find_all();
        return found;
      } catch (const Unavailable& error) {
        throw Unavailable(fmt::format("the store needs SQLite (Debian's package libsqlite3-0): {}",
                                      error.what()));
      }
    }();
    return sqlite;
  }

  void find_all() {
    find(open, "sqlite3_open_v2");
    find(close, "sqlite3_close");
    find(message, "sqlite3_errmsg");
    find(busy_timeout, "sqlite3_busy_timeout");
    find(prepare, "sqlite3_prepare_v2");
    find(bind_text, "sqlite3_bind_text");
    find(bind_double, "sqlite3_bind_double");
    find(bind_int64, "sqlite3_bind_int64");
    find(step, "sqlite3_step");
    find(finalize, "sqlite3_finalize");
    find(column_count, "sqlite3_column_count");
    find(column_type, "sqlite3_column_type");
    find(column_text, "sqlite3_column_text");
    find(column_double, "sqlite3_column_double");
    find(column_int64, "sqlite3_column_int64");
  }

  Library library;
  int (*open)(const char*, void**, int, const char*) = nullptr;
  int (*close)(void*) = nullptr;
  const char* (*message)(void*) = nullptr;
  int (*busy_timeout)(void*, int) = nullptr;
  int (*prepare)(void*, const char*, int, void**, const char**) = nullptr;
  int (*bind_text)(void*, int, const char*, int, Destructor) = nullptr;
  int (*bind_double)(void*, int, double) = nullptr;
  int (*bind_int64)(void*, int, long long) = nullptr;
  int (*step)(void*) = nullptr;
  int (*finalize)(void*) = nullptr;
  int (*column_count)(void*) = nullptr;
  int (*column_type)(void*, int) = nullptr;
  const unsigned char* (*column_text)(void*, int) = nullptr;
  double (*column_double)(void*, int) = nullptr;
  long long (*column_int64)(void*, int) = nullptr;
};

// A prepared statement, finalised in the end.
class Statement {
 public:
  explicit Statement(void* handle) : handle_(handle) {}
  ~Statement() { Sqlite::instance().finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // The values must outlive the statement.
  int bind(int place, const SqlValue& value) {
    const Sqlite& sqlite = Sqlite::instance();
    if (const auto* text = std::get_if<std::string>(&value)) {
      return sqlite.bind_text(handle_, place, text->data(), static_cast<int>(text->size()),
                              nullptr);
    }
    if (const auto* number = std::get_if<double>(&value)) {
      return sqlite.bind_double(handle_, place, *number);
    }
    return sqlite.bind_int64(handle_, place, std::get<std::int64_t>(value));
  }

  int step() { return Sqlite::instance().step(handle_); }

  std::vector<SqlValue> row() {
    const Sqlite& sqlite = Sqlite::instance();
    std::vector<SqlValue> values;
    for (int i = 0; i < sqlite.column_count(handle_); ++i) {
      const int type = sqlite.column_type(handle_, i);
      if (type == kIntegerColumn) {
        values.emplace_back(std::int64_t{sqlite.column_int64(handle_, i)});
      } else if (type == kFloatColumn) {
        values.emplace_back(sqlite.column_double(handle_, i));
      } else {
        const auto* text = reinterpret_cast<const char*>(sqlite.column_text(handle_, i));
        values.emplace_back(std::string(text != nullptr ? text : ""));
      }
    }
    return values;
  }

 private:
  void* handle_;
};

}  // namespace

Database::Database(const std::string& path) : path_(path) {
  const Sqlite& sqlite = Sqlite::instance();
  // For SQLite ":memory:", "" and "file:..." are no files; a path from a folder on always is one.
  const std::string file = std::filesystem::path(path).is_absolute() ? path : "./" + path;
  if (sqlite.open(file.c_str(), &handle_, kReadWriteCreate, nullptr) != kOk) {
    const std::string why = handle_ != nullptr ? sqlite.message(handle_) : "out of memory";
    sqlite.close(handle_);
    throw UsageError(fmt::format("store {}: {}", path, why));
  }
  sqlite.busy_timeout(handle_, kBusyMilliseconds);
}

Database::~Database() { Sqlite::instance().close(handle_); }

std::vector<std::vector<SqlValue>> Database::run(const std::string& sql,
                                                 const std::vector<SqlValue>& values) {
  const Sqlite& sqlite = Sqlite::instance();
  const auto require = [&](bool good) {
    if (!good) throw UsageError(fmt::format("store {}: {}", path_, sqlite.message(handle_)));
  };
  void* prepared = nullptr;
  require(sqlite.prepare(handle_, sql.c_str(), -1, &prepared, nullptr) == kOk);
  Statement statement(prepared);
  for (std::size_t i = 0; i < values.size(); ++i) {
    require(statement.bind(static_cast<int>(i) + 1, values[i]) == kOk);
  }
  std::vector<std::vector<SqlValue>> rows;
  int state = 0;
  while ((state = statement.step()) == kRow) rows.push_back(statement.row());
  require(state == kDone);
  return rows;
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const Error&) {
    // The connection's end rolls back as well.
  }
}

void Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

}  // namespace duet
