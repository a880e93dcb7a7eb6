#include "isa/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "isa/base/error.hpp"
#include "isa/base/nearest.hpp"

namespace systole::isa {
namespace {

constexpr double any = yaml::unbounded;
constexpr double largest_bytes = 0x1p40;

constexpr auto fields() {
  using M = Machine;
  using yaml::Field;
  constexpr auto required = yaml::required;
  constexpr auto optional = yaml::optional;
  return std::tuple{
      Field{"name", &M::name, "", -any, any, required, "of the machine"},
      Field{"generation", &M::generation, "", -any, any, required, "v2 or v3: instruction rules"},
      Field{"partitions", &M::partitions, "partitions", 1, 4096, required, "of SBUF and PSUM"},
      Field{"partition_quantum", &M::partition_quantum, "partitions", 1, 4096, required,
            "smallest step of start partitions"},
      Field{"sbuf_bytes", &M::sbuf_bytes, "bytes", 64, 0x1p30, required,
            "usable SBUF per partition"},
      Field{"psum_banks", &M::psum_banks, "banks", 1, 1024, required, "per partition"},
      Field{"psum_bank_bytes", &M::psum_bank_bytes, "bytes", 4, 0x1p20, required,
            "per bank and partition"},
      Field{"hbm_bytes", &M::hbm_bytes, "bytes", 1, largest_bytes, required, "HBM of the core"},
      Field{"array_rows", &M::array_rows, "rows", 1, 4096, required,
            "contraction extent of one pass"},
      Field{"array_columns", &M::array_columns, "columns", 1, 4096, required,
            "stationary extent of one pass"},
      Field{"moving_max", &M::moving_max, "elements", 1, 65535, required,
            "moving extent of one instruction"},
      Field{"row_tile_min", &M::row_tile_min, "rows", 1, 4096, required,
            "smallest tile of rows or columns that works on its own"},
      Field{"dma_engines", &M::dma_engines, "engines", 1, 1024, required, "of the core"},
      Field{"dma_rings", &M::dma_rings, "rings", 1, 256, required, "queues a program may use"},
      Field{"dma_transpose", &M::dma_transpose, "", -any, any, optional,
            "DMA engines transpose 2-byte data at useful speed"},
      Field{"fp8_double_row", &M::fp8_double_row, "", -any, any, optional,
            "fp8 pairs double the contraction extent"},
      Field{"transpose_mode", &M::transpose_mode, "", -any, any, optional,
            "Multiply has a bit-exact pass-through mode"},
      Field{"scalar_copy", &M::scalar_copy, "", -any, any, optional, "Scalar executes Copy"},
      Field{"access_extent_max", &M::access_extent_max, "elements", 1, 65535, optional,
            "extent of one dim of an access pattern"},
      Field{"access_stride_max", &M::access_stride_max, "elements", 1, 32767, optional,
            "stride of one dim of an access pattern"},
  };
}

void require(bool condition, const yaml::Node& architecture, const char* key,
             const std::string& what) {
  if (!condition) {
    const yaml::Node* node = architecture.find(key);
    throw Error((node != nullptr ? *node : architecture).where(), what, "change one of the two");
  }
}

// What no single row of the table can say.
void check_consistency(const Machine& m, const yaml::Node& node) {
  require(m.partitions % m.partition_quantum == 0, node, "partition_quantum",
          fmt::format("\"partitions\" ({}) is not a multiple of \"partition_quantum\" ({})",
                      m.partitions, m.partition_quantum));
  require(m.array_rows <= m.partitions, node, "array_rows",
          fmt::format("\"array_rows\" ({}) exceeds \"partitions\" ({}), which feed them",
                      m.array_rows, m.partitions));
  require(m.array_columns <= m.partitions, node, "array_columns",
          fmt::format("\"array_columns\" ({}) exceeds \"partitions\" ({}), which take the results",
                      m.array_columns, m.partitions));
  require(m.row_tile_min <= std::min(m.array_rows, m.array_columns), node, "row_tile_min",
          fmt::format("\"row_tile_min\" ({}) exceeds the array ({} x {})", m.row_tile_min,
                      m.array_rows, m.array_columns));
  require(m.psum_bank_bytes % 4 == 0, node, "psum_bank_bytes",
          fmt::format("\"psum_bank_bytes\" ({}) is not a multiple of 4, the size of a sum",
                      m.psum_bank_bytes));
  require(m.moving_max * std::int64_t{4} <= m.psum_bank_bytes, node, "moving_max",
          fmt::format("\"moving_max\" ({}) sums of 4 bytes exceed \"psum_bank_bytes\" ({})",
                      m.moving_max, m.psum_bank_bytes));
  const std::int64_t widest = std::max(m.moving_max, m.array_columns);
  require(widest <= m.access_extent_max, node, "access_extent_max",
          fmt::format("\"access_extent_max\" ({}) is less than an operand of a multiply ({}) takes",
                      m.access_extent_max, widest));
}

std::vector<std::string> config_folders() {
  std::vector<std::string> folders;
  if (const char* configured = std::getenv("SYSTOLE_CONFIGS");
      configured != nullptr && *configured != '\0') {
    folders.emplace_back(configured);
  }
  folders.emplace_back(std::string(SYSTOLE_SOURCE_DIR) + "/configs");
  folders.emplace_back(std::string(SYSTOLE_SHARE_DIR) + "/configs");
  return folders;
}

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

}  // namespace

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const std::string& folder : config_folders()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".yaml" && is_file(entry.path().string())) {
        names.push_back(entry.path().stem().string());
      }
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string find_machine_file(const std::string& name_or_file) {
  const std::string_view name = name_or_file;
  const bool is_path = name.find('/') != std::string_view::npos ||
                       (name.size() >= 5 && name.substr(name.size() - 5) == ".yaml");
  if (is_path) {
    if (!is_file(name_or_file)) {
      throw Error(name_or_file, "no such machine file",
                  "give a file, or a name: " + did_you_mean("", machine_names()));
    }
    return name_or_file;
  }
  for (const std::string& folder : config_folders()) {
    if (std::string path = folder + "/" + name_or_file + ".yaml"; is_file(path)) {
      return path;
    }
  }
  throw Error("machine", fmt::format("\"{}\" is unknown", name_or_file),
              did_you_mean(name, machine_names()));
}

Machine machine_from(const yaml::Node& document) {
  yaml::detail::expect_mapping(document);
  yaml::detail::refuse_unknown_keys(document, {"architecture", "timing"});
  const yaml::Node* architecture = document.find("architecture");
  if (architecture == nullptr) {
    yaml::detail::refuse_missing(document, "architecture", "");
  }
  auto machine = yaml::read<Machine>(*architecture, fields());
  check_consistency(machine, *architecture);
  return machine;
}

Machine parse_machine(const std::string& text, const std::string& file) {
  return machine_from(yaml::parse_text(text, file));
}

Machine read_machine(const std::string& name_or_file) {
  return machine_from(yaml::parse_file(find_machine_file(name_or_file)));
}

std::string print_architecture(const Machine& machine) {
  return "architecture:\n" + yaml::print(machine, fields(), 2);
}

std::vector<yaml::FieldDescription> describe_architecture() {
  return yaml::describe<Machine>(fields());
}

int start_step(const Machine& machine, int count) {
  int step = machine.partition_quantum;
  while (step < count) {
    step *= 2;
  }
  return step;
}

std::uint64_t fingerprint(const Machine& machine) {
  // FNV-1a over "key=value;". The name is no property of the machine: a renamed copy runs the same
  // programs.
  std::string text;
  std::apply(
      [&](const auto& name, const auto&... field) {
        static_cast<void>(name);
        ((text +=
          fmt::format("{}={};", field.name, yaml::detail::print_value(machine.*(field.member)))),
         ...);
      },
      fields());
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace systole::isa
