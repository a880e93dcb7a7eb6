// The ONNX schema (Debian's libonnx-dev, version 1.12; fields added later are ignored by protobuf).
#pragma once

#include <onnx/onnx_pb.h>

namespace systole::frontend {
namespace proto = ::onnx;
}  // namespace systole::frontend
