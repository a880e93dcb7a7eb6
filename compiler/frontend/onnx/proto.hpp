// The ONNX schema (Debian's libonnx-dev, version 1.12; fields added later are ignored by protobuf).
#pragma once

#include <onnx/onnx_pb.h>

#include "compiler/frontend/onnx/proto_forward.hpp"
