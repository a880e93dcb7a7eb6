// The three ways of computing a convolution, one file each. `dtype`: the type in which operands are
// multiplied.
#pragma once

#include "compiler/lower/kernels/convolution_space.hpp"

namespace systole::lower {

void convolve_with_filters(Builder& builder, const ConvSpace& space,
                           isa::DType dtype);  // convolution_filters.cpp
void convolve_with_pixels(Builder& builder, const ConvSpace& space,
                          isa::DType dtype);                        // convolution_pixels.cpp
void convolve_depthwise(Builder& builder, const ConvSpace& space);  // convolution_depthwise.cpp

// A multiply, or several on parts of the same tiles if one operand's pattern does not fit an
// instruction.
void multiply_in_parts(Builder& builder, const Tile& moving, const Tile& out, bool accumulate);

}  // namespace systole::lower
