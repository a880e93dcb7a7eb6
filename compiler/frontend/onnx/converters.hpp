// The converters by family; each family is one file. See table.cpp for the operators that use them.
#pragma once

#include "compiler/frontend/onnx/call.hpp"

namespace systole::frontend {

// elementwise.cpp, activations.cpp
Values convert_unary(Call& call);
Values convert_binary(Call& call);
Values convert_variadic(Call& call);  // Sum, Mean, Max, Min
Values convert_power(Call& call);
Values convert_modulo(Call& call);
Values convert_bit_shift(Call& call);
Values convert_where(Call& call);
Values convert_cast(Call& call);
Values convert_cast_like(Call& call);
Values convert_clip(Call& call);
Values convert_is_inf(Call& call);
Values convert_activation(Call& call);  // activations with attributes
Values convert_gelu(Call& call);
Values convert_prelu(Call& call);

// reductions.cpp
Values convert_reduce(Call& call);
Values convert_arg_reduce(Call& call);
Values convert_cumulative_sum(Call& call);
Values convert_top_k(Call& call);
Values convert_hardmax(Call& call);

// movement.cpp, shapes.cpp
Values convert_identity(Call& call);
Values convert_reshape(Call& call);
Values convert_transpose(Call& call);
Values convert_flatten(Call& call);
Values convert_squeeze(Call& call);
Values convert_unsqueeze(Call& call);
Values convert_concat(Call& call);
Values convert_split(Call& call);
Values convert_slice(Call& call);
Values convert_pad(Call& call);
Values convert_tile(Call& call);
Values convert_expand(Call& call);
Values convert_depth_to_space(Call& call);
Values convert_space_to_depth(Call& call);
Values convert_center_crop_pad(Call& call);
Values convert_trilu(Call& call);
Values convert_shape(Call& call);
Values convert_size(Call& call);
Values convert_constant(Call& call);
Values convert_constant_of_shape(Call& call);
Values convert_range(Call& call);
Values convert_window_function(Call& call);
Values convert_eye_like(Call& call);
Values convert_dropout(Call& call);

// contraction.cpp
Values convert_matmul(Call& call);
Values convert_gemm(Call& call);
Values convert_einsum(Call& call);

// convolution.cpp, pooling.cpp, resize.cpp, grid_sample.cpp
Values convert_convolution(Call& call);
Values convert_transposed_convolution(Call& call);
Values convert_max_pool(Call& call);
Values convert_average_pool(Call& call);
Values convert_lp_pool(Call& call);
Values convert_global_pool(Call& call);
Values convert_max_unpool(Call& call);
Values convert_resize(Call& call);
Values convert_upsample(Call& call);
Values convert_grid_sample(Call& call);

// normalisation.cpp
Values convert_softmax(Call& call);
Values convert_batch_normalization(Call& call);
Values batch_normalization_training(Call& call);
Values convert_instance_normalization(Call& call);
Values convert_group_normalization(Call& call);
Values convert_layer_normalization(Call& call);
Values convert_rms_normalization(Call& call);
Values convert_local_response_normalization(Call& call);
Values convert_lp_normalization(Call& call);
Values convert_mean_variance_normalization(Call& call);

// indexing.cpp
Values convert_gather(Call& call);
Values convert_gather_elements(Call& call);
Values convert_gather_nd(Call& call);
Values convert_scatter_nd(Call& call);
Values convert_scatter_elements(Call& call);
Values convert_one_hot(Call& call);
Values convert_non_zero(Call& call);
Values convert_compress(Call& call);
Values convert_reverse_sequence(Call& call);

// control.cpp, sequences.cpp
Values convert_if(Call& call);
Values convert_loop(Call& call);
Values convert_scan(Call& call);
Values convert_sequence(Call& call);
Values convert_optional(Call& call);

// recurrent.cpp
Values convert_lstm(Call& call);
Values convert_gru(Call& call);
Values convert_rnn(Call& call);

// quantised.cpp
Values convert_quantize(Call& call);
Values convert_dequantize(Call& call);
Values convert_dynamic_quantize(Call& call);
Values convert_matmul_integer(Call& call);
Values convert_convolution_integer(Call& call);
Values convert_qlinear_matmul(Call& call);
Values convert_qlinear_convolution(Call& call);

// losses.cpp
Values convert_nll_loss(Call& call);
Values convert_cross_entropy_loss(Call& call);

}  // namespace systole::frontend
