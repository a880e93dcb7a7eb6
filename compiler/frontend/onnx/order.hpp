// Which nodes of a list are needed, and in which order.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/onnx/proto.hpp"

namespace systole::frontend {

struct Order {
  std::vector<int> nodes;  // indices into the list; producers before consumers
  std::vector<std::string>
      external;  // names that the nodes and outputs need from outside, first use first
};

// Nodes that `outputs` need, in the list's own order where that is valid. Throws Error for a name produced twice and for
// a cycle. Names used inside bodies of control flow count as used by their node.
[[nodiscard]] Order order_nodes(const google::protobuf::RepeatedPtrField<proto::NodeProto>& nodes,
                                const std::vector<std::string>& outputs);

}  // namespace systole::frontend
