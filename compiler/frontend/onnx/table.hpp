// The operators that can be read, by domain and name.
#pragma once

#include <span>
#include <string_view>

#include "compiler/frontend/onnx/call.hpp"

namespace systole::frontend {

struct OperatorRow {
  std::string_view name;  // vendor operators as DOMAIN.NAME
  Converter converter;
};

// Null when the operator is not supported.
[[nodiscard]] Converter find_converter(std::string_view domain, std::string_view op_type);
[[nodiscard]] std::span<const OperatorRow> operator_table();  // ascending by name

}  // namespace systole::frontend
