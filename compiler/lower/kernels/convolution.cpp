// Convolution: which of the three ways (the mechanism says), and in which element type.
#include "compiler/lower/kernels/convolution.hpp"

#include "compiler/lower/pieces.hpp"

namespace systole::lower {

void multiply_in_parts(Builder& builder, const Tile& moving, const Tile& out, bool accumulate) {
  if (fits_access(builder.machine(), moving) && fits_access(builder.machine(), out)) {
    builder.multiply(moving, out, accumulate);
    return;
  }
  int dim = 0;
  while (moving.dims[static_cast<std::size_t>(dim)].extent == 1) {
    ++dim;
  }
  for (std::int64_t i = 0; i < moving.dims[static_cast<std::size_t>(dim)].extent; ++i) {
    multiply_in_parts(builder, slice(moving, dim, i, 1), slice(out, dim, i, 1), accumulate);
  }
}

void lower_convolution(Builder& builder, graph::NodeId id) {
  const layout::LaidGraph& laid = builder.laid();
  const graph::Node& node = laid.graph.nodes[id];
  const ConvSpace space = conv_space_of(laid, node, std::get<graph::Convolution>(node.op));
  const isa::DType dtype = product_type(laid, node.inputs[0], node.inputs[1]);
  if (laid.mechanisms[id] == layout::Mechanism::standard) {
    convolve_depthwise(builder, space);
  } else if (laid.mechanisms[id] == layout::Mechanism::lhs_stationary) {
    convolve_with_pixels(builder, space, dtype);
  } else {
    convolve_with_filters(builder, space, dtype);
  }
}

}  // namespace systole::lower
