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

}  // namespace systole::lower
