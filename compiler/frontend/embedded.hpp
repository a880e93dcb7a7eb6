// What the build puts into the program: the default recipe and the folder that recipes are installed to.
#pragma once

#include <string_view>

namespace systole::frontend {

[[nodiscard]] std::string_view embedded_default_recipe();
[[nodiscard]] std::string_view embedded_models_folder();

}  // namespace systole::frontend
