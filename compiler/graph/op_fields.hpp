// Inside compiler/graph only: the attributes of each operator, listed once for printing and
// parsing. fields(op, visit) calls visit(name, member) for each; a new attribute is one entry here.
#pragma once

#include "compiler/graph/op.hpp"

namespace systole::graph {

template <class V>
void fields(Contraction& op, V&& visit) {
  visit("lhs", op.lhs);
  visit("rhs", op.rhs);
  visit("out", op.out);
}
template <class V>
void fields(Convolution& op, V&& visit) {
  visit("strides", op.strides);
  visit("pads_low", op.pads_low);
  visit("pads_high", op.pads_high);
  visit("dilations", op.dilations);
  visit("groups", op.groups);
}
template <class V>
void fields(Map& op, V&& visit) {  // the function is the operator's name
  visit("alpha", op.alpha);
  visit("beta", op.beta);
}
template <class V>
void fields(Reduce& op, V&& visit) {
  visit("function", op.function);
  visit("axes", op.axes);
  visit("keep", op.keep);
}
template <class V>
void fields(ArgReduce& op, V&& visit) {
  visit("largest", op.largest);
  visit("axis", op.axis);
  visit("keep", op.keep);
  visit("last", op.last);
}
template <class V>
void fields(Window& op, V&& visit) {
  visit("function", op.function);
  visit("kernel", op.kernel);
  visit("strides", op.strides);
  visit("pads_low", op.pads_low);
  visit("pads_high", op.pads_high);
  visit("dilations", op.dilations);
}
template <class V>
void fields(Transpose& op, V&& visit) {
  visit("perm", op.perm);
}
template <class V>
void fields(Reshape&, V&&) {}
template <class V>
void fields(Slice& op, V&& visit) {
  visit("starts", op.starts);
  visit("steps", op.steps);
}
template <class V>
void fields(Concat& op, V&& visit) {
  visit("axis", op.axis);
}
template <class V>
void fields(Pad& op, V&& visit) {
  visit("low", op.low);
  visit("high", op.high);
  visit("interior", op.interior);
  visit("value", op.value);
}
template <class V>
void fields(Expand&, V&&) {}
template <class V>
void fields(Gather& op, V&& visit) {
  visit("axis", op.axis);
}
template <class V>
void fields(GatherElements& op, V&& visit) {
  visit("axis", op.axis);
}
template <class V>
void fields(ScatterND& op, V&& visit) {
  visit("mode", op.mode);
}
template <class V>
void fields(Convert&, V&&) {}

// Calls visit for every attribute of the operator in the variant.
template <class V>
void each_field(Op& op, V&& visit) {
  std::visit([&](auto& each) { fields(each, visit); }, op);
}

}  // namespace systole::graph
