#include "results/record_shape.h"

namespace duet {
namespace {

const Shape kRange = {
    {{"mean", FieldKind::number}, {"min", FieldKind::number}, {"max", FieldKind::number}}, {}};
const Shape kTelemetry = {{},
                          {{"readings", FieldKind::bytes},
                           {"watts_limit", FieldKind::number},
                           {"joules", FieldKind::number},
                           {"throttle", FieldKind::texts}},
                          {{"watts", PartKind::object, &kRange},
                           {"compute_mhz", PartKind::object, &kRange},
                           {"memory_mhz", PartKind::object, &kRange},
                           {"celsius", PartKind::object, &kRange}}};
const Shape kLoad = {
    {},
    {{"average", FieldKind::amount}, {"others", FieldKind::amount}, {"steal", FieldKind::amount}}};
const Shape kSeconds = {{{"median", FieldKind::amount},
                         {"mean", FieldKind::amount},
                         {"min", FieldKind::amount},
                         {"p5", FieldKind::amount},
                         {"p95", FieldKind::amount},
                         {"p99", FieldKind::amount},
                         {"ci_low", FieldKind::amount},
                         {"ci_high", FieldKind::amount},
                         {"n", FieldKind::whole}},
                        {{"stopped_by", FieldKind::text},
                         {"widening", FieldKind::amount},
                         {"bounded", FieldKind::truth}}};
const Shape kCost = {{{"flop", FieldKind::amount},
                      {"memory_bytes", FieldKind::amount},
                      {"wire_bytes", FieldKind::amount}},
                     {{"algorithm_bytes", FieldKind::amount},
                      {"bus_bytes", FieldKind::amount},
                      {"busiest_wire_bytes", FieldKind::amount},
                      {"network_bytes", FieldKind::amount},
                      {"link_gbit_per_s", FieldKind::amount},
                      {"tokens", FieldKind::amount},
                      {"samples", FieldKind::amount},
                      {"points", FieldKind::amount}}};
const Shape kReason = {{{"reason", FieldKind::text}}, {}};
const Shape kTimeline = {{{"compute", FieldKind::span}, {"communication", FieldKind::span}}, {}};

const Shape kDevice = {{{"name", FieldKind::text}},
                       {{"kind", FieldKind::text},
                        {"model", FieldKind::text},
                        {"bus", FieldKind::text},
                        {"numa_node", FieldKind::whole},
                        {"compute_units", FieldKind::whole},
                        {"memory_bytes", FieldKind::bytes},
                        {"cache_bytes", FieldKind::bytes},
                        {"copy_engines", FieldKind::whole},
                        {"priorities", FieldKind::whole},
                        {"details", FieldKind::notes}}};
const Shape kLink = {{{"from", FieldKind::whole}, {"to", FieldKind::whole}},
                     {{"kind", FieldKind::text},
                      {"count", FieldKind::whole},
                      {"gb_per_s", FieldKind::amount},
                      {"peer_access", FieldKind::truth}}};
const Shape kMachine = {{{"name", FieldKind::text}},
                        {{"virtual_time", FieldKind::truth}},
                        {{"devices", PartKind::list, &kDevice}, {"links", PartKind::list, &kLink}}};
const Shape kNuma = {{}, {{"node", FieldKind::whole}, {"cores", FieldKind::whole}}};
const Shape kHost = {{},
                     {{"name", FieldKind::text},
                      {"system", FieldKind::text},
                      {"kernel", FieldKind::text},
                      {"cpu", FieldKind::text},
                      {"sockets", FieldKind::whole},
                      {"cores", FieldKind::whole},
                      {"threads", FieldKind::whole},
                      {"memory_bytes", FieldKind::bytes}},
                     {{"numa", PartKind::list, &kNuma}}};
const Shape kRun = {{},
                    {{"duet", FieldKind::text},
                     {"revision", FieldKind::text},
                     {"command", FieldKind::text},
                     {"time_utc", FieldKind::text},
                     {"libraries", FieldKind::notes},
                     {"variables", FieldKind::notes}},
                    {{"host", PartKind::object, &kHost},
                     {"telemetry", PartKind::by_name, &kTelemetry},
                     {"load", PartKind::object, &kLoad}}};

}  // namespace

const Shape& environment_shape() {
  static const Shape kEnvironment = {
      {{"machines", FieldKind::list}},
      {{"processes", FieldKind::whole}, {"imported", FieldKind::notes}},
      {{"machines", PartKind::list, &kMachine}, {"run", PartKind::object, &kRun}}};
  return kEnvironment;
}

const Shape& result_shape() {
  static const Shape kResult = {{{"benchmark", FieldKind::text},
                                 {"device", FieldKind::text},
                                 {"engine", FieldKind::text},
                                 {"case", FieldKind::object},
                                 {"outcome", FieldKind::text}},
                                {{"mode", FieldKind::text},
                                 {"flushed", FieldKind::truth},
                                 {"verified", FieldKind::truth},
                                 {"notes", FieldKind::notes},
                                 {"warm_ups", FieldKind::whole},
                                 {"warnings", FieldKind::texts},
                                 {"samples", FieldKind::amounts}},
                                {{"skipped", PartKind::object, &kReason},
                                 {"failed", PartKind::object, &kReason},
                                 {"seconds", PartKind::object, &kSeconds},
                                 {"cost", PartKind::object, &kCost},
                                 {"telemetry", PartKind::object, &kTelemetry},
                                 {"load", PartKind::object, &kLoad},
                                 {"timeline", PartKind::list, &kTimeline}},
                                {{"rates", FieldKind::number},
                                 {"metrics", FieldKind::number},
                                 {"curves", FieldKind::numbers}}};
  return kResult;
}

const Shape& end_shape() {
  static const Shape kEnd = {
      {}, {{"time_utc", FieldKind::text}}, {{"load", PartKind::object, &kLoad}}};
  return kEnd;
}

const Fields& fields_of(Outcome outcome) {
  static const Fields kMeasured = {{"seconds", FieldKind::object}, {"cost", FieldKind::object},
                                   {"mode", FieldKind::text},      {"flushed", FieldKind::truth},
                                   {"verified", FieldKind::truth}, {"rates", FieldKind::object},
                                   {"notes", FieldKind::notes}};
  static const Fields kDerived = {{"rates", FieldKind::object}, {"notes", FieldKind::notes}};
  static const Fields kOthers;
  return outcome == Outcome::measured  ? kMeasured
         : outcome == Outcome::derived ? kDerived
                                       : kOthers;
}

}  // namespace duet
