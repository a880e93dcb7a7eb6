// Names of the ONNX schema without its headers, which cost seconds per file.
#pragma once

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace systole::frontend {
namespace proto = ::onnx;
}  // namespace systole::frontend
