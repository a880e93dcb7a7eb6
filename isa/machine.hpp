// The architectural machine: what a correct program must respect. Read from the `architecture` section of a file in
// configs/. Nothing here says how long anything takes: timing is the simulator's (sim/timing), prices the compiler's
// (layout/cost_model). Source of every figure: the comments in configs/*.yaml.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/base/yaml.hpp"

namespace systole::isa {

enum class Generation : std::uint8_t { v2, v3 };
[[nodiscard]] constexpr auto yaml_names(Generation) {
  return std::array{std::pair{std::string_view("v2"), Generation::v2},
                    std::pair{std::string_view("v3"), Generation::v3}};
}

struct Machine {
  std::string name;
  Generation generation = Generation::v2;

  int partitions = 128;           // of SBUF and PSUM
  int partition_quantum = 32;     // start partitions are multiples of it (see access.hpp)
  std::int64_t sbuf_bytes = 0;    // usable bytes per partition
  int psum_banks = 8;             // per partition
  std::int64_t psum_bank_bytes = 2048;
  std::int64_t hbm_bytes = 0;

  int array_rows = 128;           // contraction extent of one pass
  int array_columns = 128;        // stationary extent of one pass
  int moving_max = 512;           // moving extent of one instruction
  int row_tile_min = 64;          // smallest tile of rows/columns that can work on its own

  int dma_engines = 16;
  int dma_rings = 16;             // queues a program may use
  bool dma_transpose = false;     // the DMA engines transpose 2-byte data at useful speed
  bool fp8_double_row = false;
  bool transpose_mode = false;    // Multiply has a bit-exact pass-through mode that keeps 2-byte output
  bool scalar_copy = false;       // Scalar executes Copy (otherwise Activation copy)

  std::int64_t access_extent_max = 65535;  // uint16 sizes of an access pattern
  std::int64_t access_stride_max = 32767;  // int16 strides, in elements

  bool operator==(const Machine&) const = default;
};

// A name ("trn1") is looked up as configs/NAME.yaml beside the program's installation; anything with a slash or ending
// in .yaml is a file. Throws Error naming file, line, key, nearest known key.
[[nodiscard]] Machine read_machine(const std::string& name_or_file);
[[nodiscard]] std::string find_machine_file(const std::string& name_or_file);
// The same from a text; `file` is the name that messages use.
[[nodiscard]] Machine parse_machine(const std::string& text, const std::string& file);
// A parsed machine file: exactly the sections `architecture` and, optionally, `timing` (not looked into here).
[[nodiscard]] Machine machine_from(const yaml::Node& document);
// Names that find_machine_file knows, sorted.
[[nodiscard]] std::vector<std::string> machine_names();

// The `architecture` mapping of a file that describes this machine, and the reference of its keys.
[[nodiscard]] std::string print_architecture(const Machine& machine);
[[nodiscard]] std::vector<yaml::FieldDescription> describe_architecture();

// First partitions of an operand that covers `count` partitions are multiples of this: the smallest quantum * 2^k that
// is not smaller than count (128 partitions, quantum 32: 32 up to 32, 64 up to 64, then 128, that is only 0).
[[nodiscard]] int start_step(const Machine& machine, int count);

// Hash of the architectural fields: a program carries it, a machine with another one refuses the program.
[[nodiscard]] std::uint64_t fingerprint(const Machine& machine);

}  // namespace systole::isa
