#include "compiler/driver/calibrate/profile_file.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/driver/output_file.hpp"
#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

std::string end_line(const std::string& configuration) {
  nlohmann::ordered_json line;
  line["end"] = configuration;
  return line.dump() + "\n";
}

}  // namespace

ProfileFile::ProfileFile(std::string path, const std::string& key) : path_(std::move(path)) {
  nlohmann::ordered_json head;
  head["schema"] = "systole-profile-1";
  head["key"] = key;
  std::string kept = head.dump() + "\n";
  std::ifstream in(path_);
  std::string line;
  if (std::getline(in, line)) {
    const auto found = nlohmann::json::parse(line, nullptr, false);
    if (!found.is_object() || found.value("schema", "") != "systole-profile-1") {
      throw Error(path_, "is no profile", "name another file, or remove this one");
    }
    std::string lines;
    while (found.value("key", "") == key && std::getline(in, line)) {
      const auto record = nlohmann::json::parse(line, nullptr, false);
      if (record.is_object() && record.contains("end") && record["end"].is_string()) {
        lines_[record["end"]] = lines;
        kept += lines + end_line(record["end"]);
        lines.clear();
      } else {
        lines += line + "\n";
      }
    }
  }
  in.close();
  write_file(path_, kept);  // without what a stopped run left half done
}

void ProfileFile::add(const std::string& configuration, const std::string& lines) {
  std::ofstream out(path_, std::ios::app | std::ios::binary);
  out << lines << end_line(configuration) << std::flush;
  if (!out) {
    throw Error(path_, "cannot be written", "check the folder and the free space");
  }
  lines_[configuration] = lines;
}

}  // namespace systole::driver
