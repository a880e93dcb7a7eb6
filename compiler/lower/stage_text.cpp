#include <fmt/format.h>

#include "compiler/lower/stages.hpp"
#include "compiler/lower/storage.hpp"
#include "isa/text.hpp"

namespace systole::lower {

std::string to_text(const Residency& residency, const layout::LaidGraph& laid) {
  std::string out = fmt::format("residency {} peak {} bytes per partition\n", laid.graph.name,
                                residency.resident_peak);
  for (const graph::TensorId tensor : laid.graph.tensors.ids()) {
    const graph::TensorId root = residency.root[tensor];
    out += fmt::format("{} {}{}\n", laid.graph.tensors[tensor].name,
                       residency.resident[root] != 0 ? "sbuf" : "hbm",
                       root == tensor ? "" : " alias " + laid.graph.tensors[root].name);
  }
  for (const std::string& line : residency.spilled) {
    out += "spilled " + line + "\n";
  }
  return out;
}

std::string to_text(const TileProgram& program) {
  std::string out = fmt::format("tiles {}\n", program.name);
  for (const BufferId id : program.buffers.ids()) {
    const Buffer& buffer = program.buffers[id];
    out +=
        fmt::format("buffer b{} {} {} bytes \"{}\"\n", id.index(),
                    buffer.space == isa::Space::psum ? "psum" : "sbuf", buffer.bytes, buffer.name);
  }
  isa::SourceId source;
  for (const TileInstruction& tile : program.instructions) {
    if (tile.instruction.source != source) {
      source = tile.instruction.source;
      out += fmt::format("# {}\n", program.sources[source].name);
    }
    out += fmt::format("{}{} {}", isa::name_of(tile.instruction.engine), tile.any_engine ? "*" : "",
                       isa::print(tile.instruction));
    for (std::size_t i = 0; i < tile.buffers.size(); ++i) {
      out += fmt::format("{}b{}", i == 0 ? "  ; on " : " ", tile.buffers[i].index());
    }
    out += "\n";
  }
  return out;
}

std::string to_text(const Allocation& allocation, const TileProgram& program) {
  std::string out = fmt::format("allocation {} sbuf peak {} psum peak {} bytes per partition\n",
                                program.name, allocation.sbuf_peak, allocation.psum_peak);
  for (const BufferId id : program.buffers.ids()) {
    out += fmt::format("b{} {} at {} \"{}\"\n", id.index(),
                       program.buffers[id].space == isa::Space::psum ? "psum" : "sbuf",
                       allocation.offsets[id], program.buffers[id].name);
  }
  for (const std::string& line : allocation.tight) {
    out += "tight " + line + "\n";
  }
  return out;
}

}  // namespace systole::lower
