#include "compiler/driver/bench/results.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/driver/output_file.hpp"
#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

const std::string none;

// Whole lines of a file by their member "configuration", in order. A last line without its newline is dropped.
template <class Visit>
void for_each_line(const std::string& path, Visit&& visit) {
  std::ifstream in(path);
  std::string line;
  for (int number = 1; std::getline(in, line) && !in.eof(); ++number) {
    const auto record = nlohmann::json::parse(line, nullptr, false);
    if (!record.is_object() || !record.contains("configuration") ||
        !record["configuration"].is_string()) {
      throw Error(fmt::format("{}:{}", path, number), "is no line of a bench result",
                  "name another file, or remove this one");
    }
    visit(number, record, line);
  }
}

std::string times_of(const std::string& path) {
  return path + ".times";
}

void append(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::app | std::ios::binary);
  out << text << std::flush;
  if (!out) {
    throw Error(path, "cannot be written", "check the folder and the free space");
  }
}

}  // namespace

Results::Results(std::string path, std::string key) : path_(std::move(path)), key_(std::move(key)) {
  if (std::filesystem::exists(path_)) {
    read(path_);
    std::vector<std::string> found;
    for (const auto& [name, text] : lines_) {
      found.push_back(name);
    }
    sort(found);  // drops what a killed run left half done
  }
}

const std::string& Results::lines(const std::string& configuration) const {
  const auto found = lines_.find(configuration);
  return found == lines_.end() ? none : found->second;
}

void Results::add(const std::string& configuration, const std::string& lines,
                  const std::string& times, bool failed) {
  append(times_of(path_), times);
  append(path_, lines);
  keep(configuration, lines, times, failed);
}

void Results::keep(const std::string& configuration, const std::string& lines,
                   const std::string& times, bool failed) {
  lines_[configuration] = lines;
  times_[configuration] = times;
  if (failed) {
    failed_.insert(configuration);
  } else {
    failed_.erase(configuration);
  }
}

void Results::merge(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    throw Error(path, "does not exist", "name a result file of systole bench");
  }
  read(path);
}

void Results::read(const std::string& path) {
  struct Found {
    std::string lines, times;
    std::size_t lines_left = 1;
    bool failed = false, timed = false;
  };
  std::map<std::string, Found> found;
  for_each_line(path, [&](int number, const nlohmann::json& record, const std::string& line) {
    const std::string where = fmt::format("{}:{}", path, number);
    if (record.value("schema", "") != bench_schema) {
      throw Error(where, fmt::format("has not the schema {}", bench_schema),
                  "run the bench anew into another file");
    }
    if (record.value("run", "") != key_) {
      throw Error(where, fmt::format("belongs to another run: {}", record.value("run", "")),
                  fmt::format("this one is: {}; give another --output", key_));
    }
    Found& now = found[record["configuration"]];
    if (now.lines_left == 0) {  // the attempt before this one is whole
      now = Found{};
    }
    now.lines += line + "\n";
    now.lines_left = record.value("lines_left", std::size_t{0});
    now.failed = now.failed || record.contains("failure");
  });
  for_each_line(times_of(path), [&](int, const nlohmann::json& record, const std::string& line) {
    Found& now = found[record["configuration"]];
    if (now.timed) {
      now.times.clear();
    }
    now.times += line + "\n";
    now.timed = record.contains("seconds");  // the last line of an attempt
  });
  for (const auto& [name, now] : found) {
    if (now.lines_left == 0 && !(now.failed && has(name) && !failed(name))) {
      keep(name, now.lines, now.times, now.failed);
    }
  }
}

void Results::sort(const std::vector<std::string>& configurations) const {
  std::string lines, times;
  for (const std::string& name : configurations) {
    const auto found = lines_.find(name);
    if (found != lines_.end()) {
      lines += found->second;
      times += times_.at(name);
    }
  }
  write_file(times_of(path_), times);
  write_file(path_, lines);
}

}  // namespace systole::driver
