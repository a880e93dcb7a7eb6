// libFuzzer entry: any text as a recipe gives a graph or an Error.

#include <cstddef>
#include <cstdint>
#include <string>

#include "compiler/frontend/recipe.hpp"
#include "compiler/graph/graph.hpp"
#include "isa/base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  systole::frontend::Options options;
  options.constant_bytes = 1 << 26;
  options.nodes = 20'000;
  options.trips = 100;
  try {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto graph = systole::frontend::parse_recipe(text, "fuzz.yaml", options);
    systole::check(systole::graph::verify(graph).empty(),
                   "an accepted recipe gives a faulty graph");
  } catch (const systole::Error&) {
  }
  return 0;
}
