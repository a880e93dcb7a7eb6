// TensorProto to host arrays, external data included.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "compiler/frontend/onnx/proto_forward.hpp"
#include "compiler/graph/array.hpp"

namespace systole::frontend {

struct TensorContents {
  graph::ElementType type = graph::ElementType::f32;
  graph::Shape shape;
  std::optional<graph::Array> value;  // empty: external data that is not there
};

// `where` names the tensor in errors: unknown or textual element type, negative or absurd extents, data shorter or longer
// than the shape says, an external path that leaves `folder`, an external file that is too short.
[[nodiscard]] TensorContents read_tensor(const proto::TensorProto& tensor, const std::string& where,
                                         const std::filesystem::path& folder);

// The element type of an ONNX data type number; throws Error for text, complex and unknown ones.
[[nodiscard]] graph::ElementType element_type_of(int data_type, const std::string& where);

}  // namespace systole::frontend
