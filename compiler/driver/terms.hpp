// Predicted and measured cycles side by side: per operator and conversion of every distinct program, and per term of the
// cost model over all of it, with the terms that made the worst strategy lose.
#pragma once

#include <string>

#include "compiler/driver/compare.hpp"

namespace systole::driver {

std::string terms_text(const Comparison& comparison, const sim::Timing& timing);

}  // namespace systole::driver
