#include "compiler/lower/kernels/map_emit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

using graph::MapFunction;
using isa::AluOp;
using isa::DType;

AluOp alu_of(MapFunction function) {
  using Pair = std::pair<MapFunction, AluOp>;
  static constexpr std::array table = {Pair{MapFunction::add, AluOp::add},
                                       Pair{MapFunction::subtract, AluOp::subtract},
                                       Pair{MapFunction::multiply, AluOp::multiply},
                                       Pair{MapFunction::divide, AluOp::divide},
                                       Pair{MapFunction::max, AluOp::max},
                                       Pair{MapFunction::min, AluOp::min},
                                       Pair{MapFunction::power, AluOp::power},
                                       Pair{MapFunction::modulo, AluOp::modulo},
                                       Pair{MapFunction::equal, AluOp::equal},
                                       Pair{MapFunction::not_equal, AluOp::not_equal},
                                       Pair{MapFunction::less, AluOp::less},
                                       Pair{MapFunction::less_equal, AluOp::less_equal},
                                       Pair{MapFunction::greater, AluOp::greater},
                                       Pair{MapFunction::greater_equal, AluOp::greater_equal},
                                       Pair{MapFunction::logical_and, AluOp::logical_and},
                                       Pair{MapFunction::logical_or, AluOp::logical_or},
                                       Pair{MapFunction::logical_xor, AluOp::logical_xor},
                                       Pair{MapFunction::bitwise_and, AluOp::bitwise_and},
                                       Pair{MapFunction::bitwise_or, AluOp::bitwise_or},
                                       Pair{MapFunction::bitwise_xor, AluOp::bitwise_xor},
                                       Pair{MapFunction::shift_left, AluOp::shift_left},
                                       Pair{MapFunction::shift_right, AluOp::shift_right}};
  const auto row = std::ranges::find(table, function, &Pair::first);
  check(row != table.end(), "an elementwise function without instructions");
  return row->second;
}

struct IntegerRange {
  int bits = 32;
  bool is_signed = true;
};

IntegerRange range_of(DType dtype) {
  const bool is_unsigned =
      dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::b8;
  return {8 * isa::size_of(dtype), !is_unsigned};
}

bool contains(DType outer, DType inner) {
  const IntegerRange o = range_of(outer);
  const IntegerRange i = range_of(inner);
  return o.is_signed == i.is_signed ? o.bits >= i.bits : o.is_signed && o.bits > i.bits;
}

bool narrow_integer(DType dtype) {
  return !isa::is_float(dtype) && dtype != DType::b8 && isa::size_of(dtype) < 4;
}

bool may_wrap(MapFunction function) {
  static constexpr std::array wrapping = {
      MapFunction::negate,   MapFunction::square, MapFunction::add,        MapFunction::subtract,
      MapFunction::multiply, MapFunction::power,  MapFunction::shift_left, MapFunction::abs};
  return std::ranges::find(wrapping, function) != wrapping.end();
}

class Emitter {
 public:
  Emitter(Builder& builder, const graph::Map& op, const Tile& out,
          const std::vector<MapInput>& inputs)
      : b_(builder), op_(op), out_(out), in_(inputs), integer_(!isa::is_float(inputs[0].dtype)) {}

  void run() {
    if (in_.size() == 3) {
      select();
    } else if (narrow_integer(out_.dtype) && may_wrap(op_.function)) {
      const Tile result = out_;
      out_ = temporary(DType::i32);
      compute();
      wrap(result, out_);
    } else {
      compute();
    }
  }

 private:
  void compute() {
    if (in_.size() == 2) {
      binary();
    } else {
      unary(tile(0));
    }
  }

  [[nodiscard]] Tile temporary(DType dtype) {
    std::vector<std::int64_t> extents;
    for (const isa::Dim& dim : out_.dims) {
      extents.push_back(dim.extent);
    }
    return b_.scratch(out_.partitions, extents, dtype, "temporary", out_.partition);
  }

  // One element per partition with the output's dims.
  [[nodiscard]] Tile spread(const Tile& element) const {
    Tile out = element;
    out.dims = out_.dims;
    for (isa::Dim& dim : out.dims) {
      dim.stride = 0;
    }
    return out;
  }

  [[nodiscard]] Tile tile(std::size_t i) {
    const MapInput& input = in_[i];
    if (input.form == MapInput::Form::tile) {
      return input.tile;
    }
    if (input.form == MapInput::Form::per_partition) {
      return spread(input.tile);
    }
    const Tile element = b_.scratch(out_.partitions, {}, input.dtype, "immediate", out_.partition);
    b_.memset(element, input.value);
    return spread(element);
  }

  void unary(const Tile& x) {
    if (const std::optional<isa::Function> table = table_function(op_.function);
        table && !integer_) {
      b_.activation(*table, out_, x);
      return;
    }
    const MapFunction f = op_.function;
    if (f == MapFunction::cast) {
      cast(x);
    } else if (f == MapFunction::copy) {
      b_.copy(out_, x);
    } else if (f == MapFunction::negate) {
      b_.tensor_scalar(out_, x, AluOp::multiply, -1.0F);
    } else if (f == MapFunction::abs) {
      b_.tensor_scalar(out_, x, AluOp::abs_max, 0.0F);
    } else if (f == MapFunction::relu) {
      b_.tensor_scalar(out_, x, AluOp::max, 0.0F);
    } else if (f == MapFunction::sign) {
      integer_sign(x);
    } else if (f == MapFunction::square) {
      b_.tensor_tensor(AluOp::multiply, out_, x, x);
    } else if (f == MapFunction::logical_not) {
      b_.tensor_scalar(out_, x, AluOp::equal, 0.0F);
    } else if (f == MapFunction::bitwise_not) {
      bitwise_not(x);
    } else if (f == MapFunction::is_nan) {
      b_.tensor_tensor(AluOp::not_equal, out_, x, x);
    } else if (f == MapFunction::is_inf) {
      b_.tensor_scalar(out_, x, AluOp::abs_max, 0.0F, AluOp::equal,
                       std::numeric_limits<float>::infinity());
    } else if (f == MapFunction::clip) {
      clip(x);
    } else if (f == MapFunction::leaky_relu) {
      leaky_relu(x);
    } else if (f == MapFunction::elu) {
      elu(x);
    } else {
      check(false, "a one-operand function without instructions");
    }
  }

  void leaky_relu(const Tile& x) {
    const Tile below = temporary(DType::f32);
    b_.tensor_scalar(below, x, AluOp::min, 0.0F, AluOp::multiply, static_cast<float>(op_.alpha));
    b_.scalar_tensor_tensor(out_, x, AluOp::max, 0.0F, AluOp::add, below);
  }

  void elu(const Tile& x) {
    const Tile below = temporary(DType::f32);
    b_.tensor_scalar(below, x, AluOp::min, 0.0F);
    b_.activation(isa::Function::exp, below, below);
    b_.tensor_scalar(below, below, AluOp::subtract, 1.0F, AluOp::multiply,
                     static_cast<float>(op_.alpha));
    b_.scalar_tensor_tensor(out_, x, AluOp::max, 0.0F, AluOp::add, below);
  }

  void integer_sign(const Tile& x) {
    const Tile above = temporary(DType::i32);
    const Tile below = temporary(DType::i32);
    b_.tensor_scalar(above, x, AluOp::greater, 0.0F);
    b_.tensor_scalar(below, x, AluOp::less, 0.0F);
    b_.tensor_tensor(AluOp::subtract, out_, above, below);
  }

  // Complement of an unsigned number: 2^bits - (x + 1), every constant of which fp32 holds exactly.
  void bitwise_not(const Tile& x) {
    const IntegerRange range = range_of(x.dtype);
    if (range.is_signed) {
      b_.tensor_scalar(out_, x, AluOp::bitwise_xor, -1.0F);
    } else {
      b_.tensor_scalar(out_, x, AluOp::add, 1.0F, AluOp::subtract, std::ldexp(1.0F, range.bits),
                       false, true);
    }
  }

  void clip(const Tile& x) {
    if (!integer_) {
      const auto bound = [](double v) {
        constexpr double largest = std::numeric_limits<float>::max();
        return static_cast<float>(std::clamp(v, -2 * largest, 2 * largest));
      };
      b_.tensor_scalar(out_, x, AluOp::max, bound(op_.alpha), AluOp::min, bound(op_.beta));
      return;
    }
    const IntegerRange range = range_of(x.dtype);
    const double low = range.is_signed ? -std::ldexp(1.0, range.bits - 1) : 0.0;
    const double high = std::ldexp(1.0, range.bits - (range.is_signed ? 1 : 0)) - 1.0;
    const bool low_works = op_.alpha > low;
    const bool high_works = op_.beta < high;
    Tile from = x;
    if (low_works) {
      const Tile to = high_works ? temporary(x.dtype) : out_;
      bound(to, from, AluOp::max, std::trunc(op_.alpha));
      from = to;
    }
    if (high_works) {
      bound(out_, from, AluOp::min, std::trunc(op_.beta));
    } else if (!low_works) {
      b_.copy(out_, from);
    }
  }

  // out = x op value for a whole number that fp32 may not hold: then it is made of two halves.
  void bound(const Tile& to, const Tile& x, AluOp op, double value) {
    const auto narrow = static_cast<float>(value);
    if (static_cast<double>(narrow) == value) {
      b_.tensor_scalar(to, x, op, narrow);
      return;
    }
    const double high = std::floor(value / 65536.0);
    const Tile whole = b_.scratch(out_.partitions, {}, x.dtype, "bound", out_.partition);
    b_.memset(whole, static_cast<float>(high));
    b_.tensor_scalar(whole, whole, AluOp::multiply, 65536.0F, AluOp::add,
                     static_cast<float>(value - high * 65536.0));
    b_.tensor_tensor(op, to, x, spread(whole));
  }

  void cast(const Tile& x) {
    const bool to_float = isa::is_float(out_.dtype);
    if (to_float || out_.dtype == DType::b8 || x.dtype == DType::b8) {
      b_.copy(out_, x);
    } else if (isa::is_float(x.dtype)) {
      truncate(out_, x);
    } else {
      wrap(out_, x);
    }
  }

  // Towards zero: max(floor(x), 0) + min(ceil(x), 0).
  void truncate(const Tile& to, const Tile& x) {
    const Tile below = temporary(DType::f32);
    const Tile above = temporary(DType::f32);
    b_.activation(isa::Function::floor, below, x);
    b_.activation(isa::Function::ceil, above, x);
    b_.tensor_scalar(above, above, AluOp::min, 0.0F);
    b_.scalar_tensor_tensor(to, below, AluOp::max, 0.0F, AluOp::add, above);
  }

  // Integer to integer modulo 2^bits of the target.
  void wrap(const Tile& to, const Tile& x) {
    if (contains(to.dtype, x.dtype)) {
      b_.copy(to, x);
      return;
    }
    if (isa::size_of(to.dtype) == isa::size_of(x.dtype)) {
      b_.copy(to, reinterpret(x, to.dtype));
      return;
    }
    Tile wide = x;
    if (isa::size_of(x.dtype) < 4) {
      wide = temporary(DType::i32);
      b_.copy(wide, x);
    }
    wide = reinterpret(wide, DType::i32);
    const IntegerRange range = range_of(to.dtype);
    if (range.bits == 32) {
      b_.copy(to, reinterpret(wide, to.dtype));
      return;
    }
    const float mask = std::ldexp(1.0F, range.bits) - 1.0F;
    if (!range.is_signed) {
      b_.tensor_scalar(to, wide, AluOp::bitwise_and, mask);
      return;
    }
    const float half = std::ldexp(1.0F, range.bits - 1);
    const Tile masked = temporary(DType::i32);
    b_.tensor_scalar(masked, wide, AluOp::add, half, AluOp::bitwise_and, mask);
    b_.tensor_scalar(to, masked, AluOp::subtract, half);
  }

  void binary() {
    if (op_.function == MapFunction::power && power()) {
      return;
    }
    if (op_.function == MapFunction::remainder) {
      remainder();
      return;
    }
    apply(alu_of(op_.function), out_);
  }

  // to = first op second, whatever their forms.
  void apply(AluOp op, const Tile& to) {
    const bool a_tile = in_[0].form == MapInput::Form::tile;
    const bool b_tile = in_[1].form == MapInput::Form::tile;
    if (a_tile && b_tile) {
      b_.tensor_tensor(op, to, in_[0].tile, in_[1].tile);
    } else if (b_tile) {
      b_.tensor_scalar(to, in_[1].tile, op, in_[0].scalar(), AluOp::bypass, 0.0F, true);
    } else {
      b_.tensor_scalar(to, tile(0), op, in_[1].scalar());
    }
  }

  // True if a cheaper or more exact way than the power operation has been taken.
  bool power() {
    const bool integer_out = !isa::is_float(out_.dtype);
    if (integer_out && isa::is_float(in_[1].dtype)) {
      const Tile wide = temporary(DType::f32);
      apply(AluOp::power, wide);
      truncate(out_, wide);
      return true;
    }
    if (integer_ || in_[1].form != MapInput::Form::immediate) {
      return false;
    }
    const float exponent = in_[1].value;
    if (exponent == 2.0F) {
      b_.activation(isa::Function::square, out_, tile(0));
    } else if (exponent == 0.5F) {
      b_.activation(isa::Function::sqrt, out_, tile(0));
    } else if (exponent == -1.0F) {
      b_.activation(isa::Function::reciprocal, out_, tile(0));
    } else {
      return false;
    }
    return true;
  }

  // Sign of the dividend.
  void remainder() {
    const Tile a = tile(0);
    const Tile b = tile(1);
    if (integer_) {
      // modulo has the divisor's sign; where the signs differ and there is a rest, it is one divisor too far.
      const Tile rest = temporary(DType::i32);
      const Tile differ = temporary(DType::i32);
      const Tile some = temporary(DType::i32);
      b_.tensor_tensor(AluOp::modulo, rest, a, b);
      b_.tensor_tensor(AluOp::multiply, differ, a, b);
      b_.tensor_scalar(differ, differ, AluOp::less, 0.0F);
      b_.tensor_scalar(some, rest, AluOp::not_equal, 0.0F);
      b_.tensor_tensor(AluOp::multiply, differ, differ, some);
      b_.tensor_tensor(AluOp::multiply, differ, differ, b);
      b_.tensor_tensor(AluOp::subtract, out_, rest, differ);
      return;
    }
    const Tile rest = temporary(DType::f32);
    const Tile divisor = temporary(DType::f32);
    b_.tensor_scalar(rest, a, AluOp::abs_max, 0.0F);
    b_.tensor_scalar(divisor, b, AluOp::abs_max, 0.0F);
    b_.tensor_tensor(AluOp::modulo, rest, rest, divisor);
    b_.tensor_scalar(divisor, a, AluOp::less, 0.0F, AluOp::multiply, -2.0F);
    b_.scalar_tensor_tensor(out_, divisor, AluOp::add, 1.0F, AluOp::multiply, rest);
  }

  void select() {
    if (in_[2].form == MapInput::Form::immediate) {
      b_.memset(out_, in_[2].value);
    } else {
      b_.copy(out_, tile(2));
    }
    b_.copy_predicated(out_, tile(1), tile(0));
  }

  Builder& b_;
  const graph::Map& op_;
  Tile out_;
  const std::vector<MapInput>& in_;
  bool integer_;
};

}  // namespace

std::optional<isa::Function> table_function(MapFunction function) {
  using Pair = std::pair<MapFunction, isa::Function>;
  static constexpr std::array table = {Pair{MapFunction::sign, isa::Function::sign},
                                       Pair{MapFunction::exp, isa::Function::exp},
                                       Pair{MapFunction::log, isa::Function::log},
                                       Pair{MapFunction::sqrt, isa::Function::sqrt},
                                       Pair{MapFunction::rsqrt, isa::Function::rsqrt},
                                       Pair{MapFunction::reciprocal, isa::Function::reciprocal},
                                       Pair{MapFunction::square, isa::Function::square},
                                       Pair{MapFunction::sigmoid, isa::Function::sigmoid},
                                       Pair{MapFunction::tanh, isa::Function::tanh},
                                       Pair{MapFunction::erf, isa::Function::erf},
                                       Pair{MapFunction::gelu, isa::Function::gelu},
                                       Pair{MapFunction::gelu_tanh, isa::Function::gelu_tanh},
                                       Pair{MapFunction::silu, isa::Function::silu},
                                       Pair{MapFunction::softplus, isa::Function::softplus},
                                       Pair{MapFunction::mish, isa::Function::mish},
                                       Pair{MapFunction::sin, isa::Function::sin},
                                       Pair{MapFunction::cos, isa::Function::cos},
                                       Pair{MapFunction::tan, isa::Function::tan},
                                       Pair{MapFunction::asin, isa::Function::asin},
                                       Pair{MapFunction::acos, isa::Function::acos},
                                       Pair{MapFunction::atan, isa::Function::atan},
                                       Pair{MapFunction::sinh, isa::Function::sinh},
                                       Pair{MapFunction::cosh, isa::Function::cosh},
                                       Pair{MapFunction::asinh, isa::Function::asinh},
                                       Pair{MapFunction::acosh, isa::Function::acosh},
                                       Pair{MapFunction::atanh, isa::Function::atanh},
                                       Pair{MapFunction::floor, isa::Function::floor},
                                       Pair{MapFunction::ceil, isa::Function::ceil},
                                       Pair{MapFunction::round, isa::Function::round}};
  const auto row = std::ranges::find(table, function, &Pair::first);
  return row == table.end() ? std::nullopt : std::optional(row->second);
}

std::int64_t map_temporary_bytes(MapFunction function, DType out) {
  constexpr std::int64_t word = 4;
  const std::int64_t wide = narrow_integer(out) ? 2 * word : 0;
  if (function == MapFunction::remainder) {
    return wide + 3 * word;
  }
  if (function == MapFunction::cast || function == MapFunction::power) {
    return wide + (isa::is_float(out) ? 0 : 3 * word);
  }
  if (function == MapFunction::elu || function == MapFunction::leaky_relu ||
      function == MapFunction::clip) {
    return wide + word;
  }
  return wide + (function == MapFunction::sign ? 2 * word : 0);
}

void emit_map(Builder& builder, const graph::Map& op, const Tile& out,
              const std::vector<MapInput>& inputs) {
  Emitter(builder, op, out, inputs).run();
}

}  // namespace systole::lower
