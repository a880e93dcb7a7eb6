// Pooling: every output is the reduction of its window, by one instruction over a pattern in which
// windows overlap.
//
// The pattern of an output box is (output coordinates, window positions), both stepping through x
// as it lies in SBUF; the window positions are reduced. Padding is left out: along each axis the
// outputs fall into stretches with the same positions inside the image (one at each border, one for
// the whole interior), and every combination of stretches is a box of its own. Large boxes are cut,
// so that work starts with the first rows of x and the next operator with the first rows of the
// result. A window that sees nothing but padding gets the identity of the reduction.
#include <algorithm>
#include <limits>

#include "compiler/lower/kernels/convolution_space.hpp"

namespace systole::lower {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// Elements that one instruction reads, at most.
constexpr std::int64_t piece_elements = 4096;

// Outputs along one axis that have the same kernel positions inside the image.
struct Stretch {
  Span outputs;
  Span positions;  // extent 0: only padding
};

Span positions_inside(const SpatialAxis& axis, std::int64_t output) {
  std::int64_t first = 0;
  while (first < axis.kernel && input_of(axis, output, first) < 0) {
    ++first;
  }
  std::int64_t end = first;
  while (end < axis.kernel && input_of(axis, output, end) < axis.input) {
    ++end;
  }
  return {end == first ? 0 : first, end - first};
}

std::vector<Stretch> stretches_of(const SpatialAxis& axis, const Span& outputs) {
  std::vector<Stretch> stretches;
  for (std::int64_t o = outputs.begin; o < outputs.begin + outputs.extent; ++o) {
    const Span inside = positions_inside(axis, o);
    if (!stretches.empty() && stretches.back().positions.begin == inside.begin &&
        stretches.back().positions.extent == inside.extent) {
      ++stretches.back().outputs.extent;
    } else {
      stretches.push_back({{o, 1}, inside});
    }
  }
  return stretches;
}

// Labels: the axes of x in order; spatial ones from 2 on.
class Kernel {
 public:
  Kernel(Builder& builder, const layout::LaidGraph& laid, const graph::Node& node,
         const graph::Window& op)
      : builder_(builder), op_(op) {
    const graph::Shape& x = laid.graph.tensors[node.inputs[0]].shape;
    const graph::Shape& y = laid.graph.tensors[node.output].shape;
    Labels labels;
    for (std::size_t i = 0; i < x.size(); ++i) {
      labels.push_back(static_cast<int>(i));
      all_.push_back({0, y[i]});
      if (i >= 2) {
        axes_.push_back({x[i], y[i], op.kernel[i - 2], op.strides[i - 2], op.dilations[i - 2],
                         op.pads_low[i - 2]});
      }
    }
    x_ = place_labels(laid, node.inputs[0], labels, labels.size());
    y_ = place_labels(laid, node.output, labels, labels.size());
    x_bytes_ = isa::size_of(laid.storage[node.inputs[0]]);
    y_bytes_ = isa::size_of(laid.storage[node.output]);
  }

  void run() {
    const std::int64_t partitions = builder_.machine().partitions;
    const std::int64_t size = outputs_per_block();
    for (std::int64_t first = 0; first < x_.partitions; first += partitions) {
      const Span block{first, std::min(partitions, x_.partitions - first)};
      for (const Ranges& outputs : cut(all_, y_.free_labels, size)) {
        run_block(block, outputs);
      }
    }
  }

 private:
  [[nodiscard]] Ranges inputs_of(const Ranges& outputs) const {
    Ranges inputs = outputs;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      inputs[a + 2] = needed_input(axes_[a], outputs[a + 2]);
    }
    return inputs;
  }

  [[nodiscard]] std::int64_t outputs_per_block() const {
    const std::int64_t budget = builder_.staging_bytes();
    std::int64_t size = volume(all_, y_.free_labels);
    while (size > 1) {
      const Ranges block = cut(all_, y_.free_labels, size).front();
      if (2 * (volume(inputs_of(block), x_.free_labels) * x_bytes_ +
               volume(block, y_.free_labels) * y_bytes_) <=
          budget) {
        break;
      }
      size /= 2;
    }
    return size;
  }

  void run_block(const Span& partitions, const Ranges& outputs) {
    const Ranges inputs = inputs_of(outputs);
    const Tile x = builder_.read(x_.tensor, region_of(x_, inputs, partitions));
    const Region region = region_of(y_, outputs, partitions);
    const Tile y = builder_.write(y_.tensor, region);
    std::vector<std::vector<Stretch>> boxes{{}};
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      std::vector<std::vector<Stretch>> next;
      for (const auto& outer : boxes) {
        for (const Stretch& stretch : stretches_of(axes_[a], outputs[a + 2])) {
          next.push_back(outer);
          next.back().push_back(stretch);
        }
      }
      boxes = std::move(next);
    }
    for (const auto& box : boxes) {
      reduce_in_parts(x, inputs, y, outputs, box);
    }
    builder_.finish(y_.tensor, region, y);
  }

  // Parts of the first axis. A window has at least one.
  void reduce_in_parts(const Tile& x, const Ranges& inputs, const Tile& y, const Ranges& outputs,
                       std::vector<Stretch> box) {
    const Span all = box[0].outputs;
    std::int64_t each = 1;  // elements read per output of the first axis
    for (std::size_t a = 0; a < box.size(); ++a) {
      each *=
          std::max<std::int64_t>(1, box[a].positions.extent) * (a == 0 ? 1 : box[a].outputs.extent);
    }
    const std::int64_t step = std::max<std::int64_t>(1, piece_elements / each);
    for (std::int64_t done = 0; done < all.extent; done += step) {
      box[0].outputs = {all.begin + done, std::min(step, all.extent - done)};
      reduce(x, inputs, y, outputs, box);
    }
  }

  void reduce(const Tile& x, const Ranges& inputs, const Tile& y, const Ranges& outputs,
              const std::vector<Stretch>& box) {
    Tile out = y;
    for (std::size_t d = 0; d < y_.free_labels.size(); ++d) {
      const int label = y_.free_labels[d];
      if (label >= 2) {
        const Span want = box[at(label - 2)].outputs;
        out = slice(out, static_cast<int>(d), want.begin - outputs[at(label)].begin, want.extent);
      }
    }
    if (std::any_of(box.begin(), box.end(),
                    [](const Stretch& s) { return s.positions.extent == 0; })) {
      const bool max = op_.function == graph::ReduceFunction::max;
      builder_.memset(out, max ? -std::numeric_limits<float>::infinity() : 0.0F);
      return;
    }
    Tile in = x;
    std::vector<isa::Dim> windows;
    for (std::size_t d = 0; d < x_.free_labels.size(); ++d) {
      const int label = x_.free_labels[d];
      if (label < 2) {
        continue;
      }
      const SpatialAxis& axis = axes_[at(label - 2)];
      const Stretch& stretch = box[at(label - 2)];
      const std::int64_t begin = input_of(axis, stretch.outputs.begin, stretch.positions.begin);
      const std::int32_t stride = in.dims[d].stride;
      in = slice(in, static_cast<int>(d), begin - inputs[at(label)].begin, stretch.outputs.extent,
                 axis.stride);
      windows.push_back({static_cast<std::int32_t>(stride * axis.dilation),
                         static_cast<std::int32_t>(stretch.positions.extent)});
    }
    in.dims.insert(in.dims.end(), windows.begin(), windows.end());
    const isa::AluOp op =
        op_.function == graph::ReduceFunction::max ? isa::AluOp::max : isa::AluOp::add;
    builder_.reduce(op, out, in, static_cast<int>(windows.size()));
  }

  Builder& builder_;
  const graph::Window& op_;
  std::vector<SpatialAxis> axes_;
  Ranges all_;  // outputs
  Placed x_, y_;
  int x_bytes_ = 4;
  int y_bytes_ = 4;
};

}  // namespace

void lower_window(Builder& builder, graph::NodeId id) {
  const layout::LaidGraph& laid = builder.laid();
  const graph::Node& node = laid.graph.nodes[id];
  Kernel(builder, laid, node, std::get<graph::Window>(node.op)).run();
}

}  // namespace systole::lower
