// The fields of a journal's lines, each said once: describe(visitor, object) tells a visitor of
// each field of an object its key, its value, and whether it must be there. The visitors are
// record_json.cc's. A visitor has
//   Of<T>                          T, or const T where it only reads the objects
//   required(key, value)           a field that is always there
//   optional(key, value, write)    one that may be missing; `write`: this object has it
//   optional(key, value)           likewise, of a std::optional
//   reason(key, text, write)       likewise, an object with the text as its field "reason"
//   quantities(values)             amounts by name, of those that workloads name (record_kind.h)
//   usual(key, value, unknown)     one that may be missing, which Duet's own lines always have, and
//                                  those of other tools where it is not `unknown`
// Values are texts, truths, numbers (Amount: not negative), lists of them, values by name,
// std::optional, and objects that have a describe() here.
#pragma once

#include "results/record.h"

namespace duet {

// A number, or numbers, of 0 or more.
template <typename T>
struct Amount {
  T& value;
};
template <typename T>
Amount(T&) -> Amount<T>;

// A whole number from 1 on.
template <typename T>
struct Count {
  T& value;
};
template <typename T>
Count(T&) -> Count<T>;

template <typename V>
void describe(V& v, typename V::template Of<Seconds>& s) {
  v.required("median", Amount{s.median});
  v.required("mean", Amount{s.mean});
  v.required("min", Amount{s.min});
  v.required("p5", Amount{s.p5});
  v.required("p95", Amount{s.p95});
  v.required("p99", Amount{s.p99});
  v.required("ci_low", Amount{s.ci_low});
  v.required("ci_high", Amount{s.ci_high});
  v.optional("widening", Amount{s.widening}, s.widening > 0 && !s.stopped_by.empty());
  v.required("n", Count{s.n});
  v.optional("stopped_by", s.stopped_by, !s.stopped_by.empty());
  v.optional("bounded", s.bounded, !s.bounded);
}

template <typename V>
void describe(V& v, typename V::template Of<ValueRange>& range) {
  v.required("mean", range.mean);
  v.required("min", range.min);
  v.required("max", range.max);
}

template <typename V>
void describe(V& v, typename V::template Of<TelemetrySummary>& t) {
  v.optional("readings", t.readings);
  v.optional("watts", t.watts);
  v.optional("compute_mhz", t.compute_mhz);
  v.optional("memory_mhz", t.memory_mhz);
  v.optional("celsius", t.celsius);
  v.optional("watts_limit", t.watts_limit);
  v.optional("joules", t.joules);
  v.optional("throttle", t.throttle, !t.throttle.empty());
}

template <typename V>
void describe(V& v, typename V::template Of<HostLoad>& load) {
  v.optional("average", Amount{load.average});
  v.optional("others", Amount{load.others});
  v.optional("steal", Amount{load.steal});
}

template <typename V>
void describe(V& v, typename V::template Of<Cost>& c) {
  v.required("flop", Amount{c.flop});
  v.required("memory_bytes", Amount{c.memory_bytes});
  v.required("wire_bytes", Amount{c.wire_bytes});
  v.quantities(c.more);
}

template <typename V>
void describe(V& v, typename V::template Of<RankTimeline>& rank) {
  v.required("compute", rank.compute);
  v.required("communication", rank.communication);
  v.optional("also", rank.also);
}

template <typename V>
void describe(V& v, typename V::template Of<Record>& r) {
  const bool measured = r.outcome == Outcome::measured, derived = r.outcome == Outcome::derived;
  const bool skipped = r.outcome == Outcome::skipped;
  v.required("benchmark", r.id.benchmark);
  v.required("device", r.id.device);
  v.required("engine", r.id.engine);
  v.required("case", r.id.axes);
  v.required("outcome", r.outcome);
  v.reason("skipped", r.reason, skipped);
  v.reason("failed", r.reason, !measured && !derived && !skipped);
  v.optional("seconds", r.seconds, measured);
  v.optional("mode", r.mode, measured);
  v.optional("warm_ups", r.warm_ups);
  v.optional("flushed", r.flushed, measured);
  v.optional("verified", r.verified, measured);
  v.optional("telemetry", r.telemetry);
  v.optional("rates", r.rates, measured || derived);
  v.optional("metrics", r.metrics, !r.metrics.empty());
  v.optional("cost", r.cost, measured);
  v.optional("timeline", r.timeline, !r.timeline.empty());
  v.optional("notes", r.notes, measured || derived || skipped || !r.notes.empty());
  v.optional("warnings", r.warnings, measured || derived || skipped);
  v.optional("curves", r.curves, !r.curves.empty());
  v.optional("samples", Amount{r.samples}, !r.samples.empty());
  v.optional("load", r.load);
}

template <typename V>
void describe(V& v, typename V::template Of<DeviceInfo>& device) {
  v.required("name", device.name);
  v.usual("kind", device.kind);
  v.usual("model", device.model);
  v.usual("bus", device.bus);
  v.usual("numa_node", device.numa_node, -1);
  v.usual("compute_units", device.compute_units);
  v.usual("memory_bytes", device.memory_bytes);
  v.usual("cache_bytes", device.cache_bytes);
  v.usual("copy_engines", device.copy_engines);
  v.usual("priorities", device.priorities, 1);
  v.usual("details", device.details);
}

template <typename V>
void describe(V& v, typename V::template Of<MachineLink>& link) {
  v.required("from", link.from);
  v.required("to", link.to);
  v.usual("kind", link.link.kind);
  v.usual("count", link.link.count);
  v.usual("gb_per_s", Amount{link.link.gb_per_s});
  v.usual("peer_access", link.link.peer_access);
}

template <typename V>
void describe(V& v, typename V::template Of<MachineFacts>& machine) {
  v.required("name", machine.name);
  v.usual("virtual_time", machine.virtual_time);
  v.optional("devices", machine.devices, true);
  v.usual("links", machine.links);
}

template <typename V>
void describe(V& v, typename V::template Of<NumaNode>& numa) {
  v.usual("node", numa.index);
  v.usual("cores", numa.cores);
}

template <typename V>
void describe(V& v, typename V::template Of<HostFacts>& host) {
  v.usual("name", host.host_name);
  v.usual("system", host.system);
  v.usual("kernel", host.kernel);
  v.usual("cpu", host.cpu_model);
  v.usual("sockets", host.sockets);
  v.usual("cores", host.cores);
  v.usual("threads", host.threads);
  v.usual("memory_bytes", host.memory_bytes);
  v.usual("numa", host.numa);
}

template <typename V>
void describe(V& v, typename V::template Of<RunFacts>& run) {
  v.usual("duet", run.duet);
  v.usual("revision", run.revision);
  v.usual("command", run.command);
  v.usual("time_utc", run.time_utc);
  v.usual("host", run.host);
  v.usual("libraries", run.libraries);
  v.usual("variables", run.variables);
  v.usual("telemetry", run.telemetry);
  v.usual("load", run.load);
  v.optional("hosts", run.hosts, !run.hosts.empty());
}

template <typename V>
void describe(V& v, typename V::template Of<Environment>& e) {
  v.required("machines", e.machines);
  v.optional("processes", e.processes, e.processes > 1);
  v.optional("imported", e.imported, !e.imported.empty());
  v.optional("run", e.run);
}

template <typename V>
void describe(V& v, typename V::template Of<RunEnd>& end) {
  v.optional("time_utc", end.time_utc, true);
  v.optional("load", end.load, true);
}

}  // namespace duet
