// Boxes of elements from tensor to tensor, by the cheapest way that the two storages allow.
#pragma once

#include <vector>

#include "compiler/lower/kernels/chunks.hpp"

namespace systole::lower {

// One step of a box: along an axis of the source (-1: the same elements again) and along one of the destination.
struct BoxStep {
  int source_axis = -1;
  std::int64_t source_step = 1;
  int destination_axis = -1;
  std::int64_t destination_step = 1;
  std::int64_t extent = 1;
};
struct MoveBox {
  std::vector<std::int64_t> source_begin;       // per logical axis
  std::vector<std::int64_t> destination_begin;
  std::vector<BoxStep> steps;                   // one per axis of the destination, in any order
};

// Copies inside the partitions by the Vector engine where both tensors are resident and the partition axes run along whole
// and unchanged; DMA otherwise.
void move_box(Builder& builder, graph::TensorId from, graph::TensorId to, const MoveBox& box);

// Writes a value to the box [begin, begin + extent) of a tensor.
void fill_box(Builder& builder, graph::TensorId tensor, const std::vector<Span>& box, float value);

}  // namespace systole::lower
