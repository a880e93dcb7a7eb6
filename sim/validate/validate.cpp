#include "sim/validate/validate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>

#include "isa/base/error.hpp"
#include "sim/simulate.hpp"
#include "sim/validate/points.hpp"

namespace systole::sim {
namespace {

// A time of the report in the point's unit.
double in_unit(const std::string& unit, const Timing& timing, Ticks ticks) {
  const double us = microseconds(timing, ticks);
  return unit == "us" ? us : (unit == "ns" ? us * 1000 : 0);
}

std::string baseline_text(const ValidationRow& row) {
  if (row.baseline_multiplies <= 0 && row.baseline_bytes <= 0) {
    return "-";
  }
  const bool multiplies = row.baseline_multiplies >= row.baseline_bytes;
  const double value = multiplies ? row.baseline_multiplies : row.baseline_bytes;
  return fmt::format("{:.4g} ({}, {:+.0f} %)", value, multiplies ? "multiplies" : "bytes",
                     (value / row.published - 1) * 100);
}

ValidationRow judge(const Point& point, const isa::Machine& machine, const Timing& timing) {
  const Measured measured = point.measure(machine, timing);
  ValidationRow row;
  row.id = point.id;
  row.machine = point.machine;
  row.what = point.what;
  row.unit = point.unit;
  row.tier = point.tier;
  row.published = point.published;
  row.measured = measured.value;
  row.error = measured.value / point.published - 1;
  row.tolerance = point.tolerance;
  row.passed = std::abs(measured.value - point.published) <=
               std::max(point.tolerance * point.published, point.reading_error);
  row.baseline_multiplies = in_unit(point.unit, timing, measured.report.peak_bound);
  row.baseline_bytes = in_unit(point.unit, timing, measured.report.bandwidth_bound);
  row.baseline = baseline_text(row);
  return row;
}

}  // namespace

Run run_for_time(const isa::Program& program, const isa::Machine& machine, const Timing& timing,
                 bool trace) {
  Options options;
  options.values = false;
  options.checks = false;  // the tests run every one of these programs with checks
  options.trace = trace;
  Outcome outcome = simulate(program, machine, timing, {}, options);
  check(outcome.status == Status::done, "a program of sim/validate does not complete");
  return {std::move(outcome.report), std::move(outcome.trace)};
}

std::vector<ValidationRow> validate(const std::string& only) {
  std::vector<Point> points = instruction_points();
  for (auto more : {transfer_points(), kernel_points()}) {
    points.insert(points.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
  }
  std::map<std::string, std::pair<isa::Machine, Timing>> machines;
  std::vector<ValidationRow> rows;
  for (const Point& point : points) {
    if (point.id.rfind(only, 0) != 0) {
      continue;
    }
    if (machines.find(point.machine) == machines.end()) {
      machines.emplace(point.machine,
                       std::pair{isa::read_machine(point.machine), read_timing(point.machine)});
    }
    const auto& [machine, timing] = machines.at(point.machine);
    rows.push_back(judge(point, machine, timing));
  }
  return rows;
}

std::string print_validation(const std::vector<ValidationRow>& rows) {
  std::string text = fmt::format("{:<10}{:<6}{:>11}{:>11} {:<6}{:>8}{:>8}  {:<8}{:<30}{}\n", "id",
                                 "dev", "published", "measured", "unit", "error", "allowed",
                                 "verdict", "simplest model", "what");
  std::size_t passed = 0;
  for (const ValidationRow& row : rows) {
    passed += row.passed ? 1U : 0U;
    fmt::format_to(std::back_inserter(text),
                   "{:<10}{:<6}{:>11.5g}{:>11.5g} {:<6}{:>7.1f}%{:>7.0f}%  {:<8}{:<30}{}\n", row.id,
                   row.machine, row.published, row.measured, row.unit, row.error * 100,
                   row.tolerance * 100, row.passed ? "pass" : "FAIL", row.baseline, row.what);
  }
  fmt::format_to(std::back_inserter(text), "{} of {} points within tolerance\n", passed,
                 rows.size());
  return text;
}

}  // namespace systole::sim
