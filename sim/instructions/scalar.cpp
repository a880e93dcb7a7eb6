// Scalar engine: a function of the scaled and shifted input.
#include "sim/instructions/arithmetic.hpp"
#include "sim/instructions/execute.hpp"

namespace systole::sim {

void execute(const isa::Activation& op, Context& context) {
  Reader<float> in(context, op.in, 0);
  Writer<float> out(context, op.out, 1);
  float* argument = context.scratch.row<float>(2, in.size());
  for (int p = 0; p < op.in.partitions; ++p) {
    const float* row = in.row(p);
    const auto scale = scalar_value<float>(context, op.scale, p);
    const auto bias = scalar_value<float>(context, op.bias, p);
    const float* x = row;
    if (scale != 1.0F || bias != 0.0F) {
      for (std::int64_t i = 0; i < in.size(); ++i) {
        argument[i] = row[i] * scale + bias;
      }
      x = argument;
    }
    function_row(op.function, x, out.buffer(), in.size());
    out.commit(p);
    if (op.with_reduce) {
      Writer<float> reduce(context, op.reduce, 3);
      reduce.buffer()[0] =
          in.size() > 0 ? reduce_row<float>(isa::AluOp::add, out.buffer(), in.size()) : 0.0F;
      reduce.commit(p);
    }
  }
}

}  // namespace systole::sim
