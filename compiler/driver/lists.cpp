// systole models, machines, strategies: what can be named on the command line.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "compiler/driver/commands.hpp"
#include "compiler/driver/table.hpp"
#include "compiler/frontend/model.hpp"
#include "compiler/solver/strategy.hpp"
#include "isa/machine.hpp"

namespace systole::driver {

int list_models() {
  Table table({{"model", Table::Align::left}, {"description", Table::Align::left}});
  for (const frontend::ModelEntry& entry : frontend::list_models()) {
    table.row({entry.name, entry.description});
  }
  std::fputs(table.text().c_str(), stdout);
  return 0;
}

int list_machines() {
  using A = Table::Align;
  Table table({{"machine", A::left},
               {"array", A::left},
               {"SBUF per partition"},
               {"PSUM", A::left},
               {"DMA engines"},
               {"fingerprint"}});
  const auto folder = std::filesystem::path(isa::find_machine_file("trn1")).parent_path();
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") {
      names.insert(entry.path().stem().string());
    }
  }
  for (const std::string& name : names) {
    const isa::Machine machine = isa::read_machine(name);
    table.row({machine.name,
               std::to_string(machine.array_rows) + "x" + std::to_string(machine.array_columns),
               bytes_text(machine.sbuf_bytes),
               std::to_string(machine.psum_banks) + " x " + bytes_text(machine.psum_bank_bytes),
               std::to_string(machine.dma_engines),
               fmt::format("{:016x}", isa::fingerprint(machine))});
  }
  std::fputs(table.text().c_str(), stdout);
  return 0;
}

int list_strategies() {
  Table table({{"strategy", Table::Align::left},
               {"exact", Table::Align::left},
               {"description", Table::Align::left}});
  for (const solver::Strategy& strategy : solver::strategies()) {
    table.row({std::string(strategy.name), strategy.exact ? "yes" : "",
               std::string(strategy.description)});
  }
  std::fputs(table.text().c_str(), stdout);
  return 0;
}

}  // namespace systole::driver
