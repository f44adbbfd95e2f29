// Reading what a record and a machine say, where it may be missing.
#include "verdict/expectation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace duet {
namespace {

const Record* axis(const Record& record, const char* name) {
  const auto axes = record.find("case");
  if (axes == record.end() || !axes->is_object()) return nullptr;
  const auto found = axes->find(name);
  return found == axes->end() ? nullptr : &*found;
}

}  // namespace

const Record& devices_of(const Record& machine) {
  static const Record none = Record::array();
  const auto found = machine.find("devices");
  return found != machine.end() && found->is_array() ? *found : none;
}

double cache_bytes(const Site& site) {
  const Record& devices = devices_of(site.machine);
  const double told = devices.empty() ? 0.0 : devices[0].value("cache_bytes", 0.0);
  return std::max(told, site.spec->cache_bytes);
}

std::string axis_word(const Record& record, const char* name) {
  const Record* value = axis(record, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

double axis_number(const Record& record, const char* name) {
  const Record* value = axis(record, name);
  return value != nullptr && value->is_number() ? value->get<double>() : 0;
}

bool axis_true(const Record& record, const char* name) {
  const Record* value = axis(record, name);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

}  // namespace duet
