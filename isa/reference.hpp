// The instruction table of isa/README.md, generated from the field tables and the engine rules. A test compares the two.
#pragma once

#include <string>

namespace systole::isa {

// Markdown: a row per instruction with engines, members (type, default) and meaning.
[[nodiscard]] std::string instruction_reference();

// Markdown: a row per key of a machine file's `architecture` section.
[[nodiscard]] std::string architecture_reference();

}  // namespace systole::isa
