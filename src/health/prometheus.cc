#include "core/prometheus_text.h"
#include "health/report.h"
#include "results/writers/axis_columns.h"

namespace duet {
namespace {

PrometheusLabels labels_of(const Figure& figure) {
  return {{"benchmark", figure.id.benchmark},
          {"device", figure.id.device},
          {"engine", figure.id.engine},
          {"case", case_text(figure.id)},
          {"rate", figure.verdict.rate}};
}

std::string check_metrics(const HealthReport& report) {
  PrometheusMetric checks = prometheus_gauge(
      "duet_health_check",
      "1 if the check of a device found nothing wrong, 0 if it did; none if not known.");
  for (const Check& check : report.checks) {
    if (check.status == Status::unknown) continue;
    checks.add({{"check", check.name}, {"device", check.device}},
               check.status == Status::ok ? 1 : 0);
  }
  return checks.text();
}

std::string figure_metrics(const HealthReport& report) {
  PrometheusMetric values =
      prometheus_gauge("duet_figure", "A measured rate, in the unit that its label names.");
  PrometheusMetric shares =
      prometheus_gauge("duet_figure_expected_ratio", "A measured rate over the expected one.");
  for (const Figure& figure : report.figures) {
    if (figure.verdict.rate.empty()) continue;
    values.add(labels_of(figure), figure.verdict.value);
    if (figure.verdict.expected.value_or(0) > 0) {
      shares.add(labels_of(figure), figure.verdict.value / *figure.verdict.expected);
    }
  }
  return values.text() + shares.text();
}

}  // namespace

const char* const kPrometheusHead = "# HELP duet_health_ok ";

std::string prometheus_text(const HealthReport& report, double unix_seconds) {
  PrometheusMetric ok =
      prometheus_gauge("duet_health_ok", "1 if duet health found nothing wrong, else 0.");
  ok.add({}, faults(report).empty() ? 1 : 0);
  PrometheusMetric faults_found =
      prometheus_gauge("duet_health_faults", "How many faults duet health found.");
  faults_found.add({}, static_cast<double>(faults(report).size()));
  PrometheusMetric when = prometheus_gauge("duet_health_time_seconds",
                                           "When duet health ended, in seconds since 1970.");
  when.add({}, unix_seconds);
  PrometheusMetric took =
      prometheus_gauge("duet_health_duration_seconds", "How long duet health took.");
  took.add({}, report.seconds);
  return ok.text() + faults_found.text() + when.text() + took.text() + check_metrics(report) +
         figure_metrics(report);
}

}  // namespace duet
