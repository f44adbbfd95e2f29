#include "nccl_shim/metrics_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/part_file.h"
#include "core/prometheus_text.h"
#include "nccl_shim/call_counts.h"
#include "nccl_shim/log.h"
#include "nccl_shim/settings.h"

namespace duet::nccl_shim {
namespace {

constexpr std::chrono::seconds kWritePeriod{10};

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// Nothing where no such call was made.
void add_counts(PrometheusMetric& metric, PrometheusLabels labels, const Counts& counts) {
  std::array<std::uint64_t, kCountedSizes.size() + 1> up_to;
  std::uint64_t all = 0;
  for (std::size_t size = 0; size < up_to.size(); ++size) {
    up_to[size] = all += counts.calls[size].load(std::memory_order_relaxed);
  }
  if (all == 0) return;
  const std::uint64_t bytes = counts.bytes.load(std::memory_order_relaxed);
  metric.add(labels, static_cast<double>(bytes), "_sum");
  metric.add(labels, static_cast<double>(all), "_count");
  labels.emplace_back("le", "+Inf");
  for (std::size_t size = 0; size < kCountedSizes.size(); ++size) {
    labels.back().second = std::to_string(kCountedSizes[size]);
    metric.add(labels, static_cast<double>(up_to[size]), "_bucket");
  }
  labels.back().second = "+Inf";
  metric.add(labels, static_cast<double>(all), "_bucket");
}

std::string metrics_text() {
  PrometheusMetric calls("duet_nccl_call_bytes", "histogram",
                         "Bytes of calls of NCCL, by who makes them: duet (taken over) or nccl "
                         "(forwarded).");
  const std::string process = std::to_string(getpid());
  each_counts([&](const CommunicatorCounts& each) {
    for (std::size_t kind = 0; kind < kCountedKinds; ++kind) {
      PrometheusLabels labels = {{"pid", process},
                                 {"communicator", std::to_string(each.number)},
                                 {"ranks", std::to_string(each.ranks)},
                                 {"rank", std::to_string(each.rank)},
                                 {"call", name_of(static_cast<CountedKind>(kind))},
                                 {"by", "nccl"}};
      add_counts(calls, labels, each.calls[static_cast<std::size_t>(Means::nccl)][kind]);
      labels.back().second = "duet";
      labels.emplace_back("means", "");
      for (const Means means : {Means::copies, Means::packets, Means::kernel}) {
        labels.back().second = name_of(means);
        add_counts(calls, labels, each.calls[static_cast<std::size_t>(means)][kind]);
      }
    }
  });
  return calls.text();
}

// Never destroyed: the process may end while its thread writes.
class MetricsFile {
 public:
  explicit MetricsFile(std::string path) : path_(std::move(path)) {}

  void start() {
    try {
      std::thread([this] {
        for (;;) {
          std::this_thread::sleep_for(kWritePeriod);
          write();
        }
      }).detach();
    } catch (const std::system_error& error) {
      log_warning("DUET_NCCL_METRICS: written at the end only, without a thread: " +
                  std::string(error.what()));
    }
  }

  void write() {
    if (getpid() != process_) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    PartFile file(path_);
    if (file.open() && file.write(metrics_text()) && file.put_in_place()) return;
    const int error = errno;
    if (!told_) log_warning("DUET_NCCL_METRICS: " + path_ + ": " + std::strerror(error));
    told_ = true;
  }

 private:
  const std::string path_;
  const pid_t process_ = getpid();
  std::mutex mutex_;
  bool told_ = false;
};

MetricsFile& metrics_file() {
  static auto* const instance = new MetricsFile(file_of_process(settings().metrics));
  return *instance;
}

}  // namespace

std::string file_of_process(const std::string& name) {
  std::string file;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      file += name[i];
      continue;
    }
    const char what = i + 1 < name.size() ? name[++i] : '\0';
    if (what == 'p') {
      file += std::to_string(getpid());
    } else if (what == 'h') {
      file += host_name();
    } else if (what == '%') {
      file += '%';
    } else {
      throw UsageError("expected %p (process), %h (host) or %% in the name of a file");
    }
  }
  return file;
}

void start_metrics_file() {
  static std::once_flag once;
  std::call_once(once, [] {
    metrics_file().start();
    std::atexit([] { metrics_file().write(); });
  });
}

}  // namespace duet::nccl_shim
