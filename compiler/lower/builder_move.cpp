// Transfers of Builder between whole tensors, and the storage that the program's environment sees.
#include <algorithm>
#include <utility>

#include "compiler/lower/builder.hpp"
#include "compiler/lower/builder_state.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

}  // namespace

void Builder::move(graph::TensorId from, const Walk& source, graph::TensorId to,
                   const Walk& destination) {
  const View from_view = state_->view(from);
  const View to_view = state_->view(to);
  Transfer transfer{state_->end(from), state_->end(to), {}};
  const auto start = [](End& end, const View& view, const Walk& walk) {
    check(walk.begin.size() == view.axes.size(), "walk of another rank");
    for (std::size_t axis = 0; axis < view.axes.size(); ++axis) {
      end.partition += walk.begin[axis] * view.axes[axis].partitions;
      end.elements += walk.begin[axis] * view.axes[axis].elements;
    }
  };
  transfer.transpose = source.transpose;
  start(transfer.source, from_view, source);
  start(transfer.destination, to_view, destination);
  const auto motion = [](const View& view, const Step& step) {
    const Motion axis = step.axis < 0 ? Motion{} : view.axes[at(step.axis)];
    return Motion{axis.partitions * step.step, axis.elements * step.step};
  };
  std::vector<Step> a = source.partitions;
  a.insert(a.end(), source.free.begin(), source.free.end());
  std::vector<Step> b = destination.partitions;
  b.insert(b.end(), destination.free.begin(), destination.free.end());
  check(a.size() == b.size(), "walks of a move differ in steps");
  for (std::size_t i = 0; i < a.size(); ++i) {
    check(a[i].extent == b[i].extent, "walks of a move differ in extents");
    transfer.steps.push_back({a[i].extent, motion(from_view, a[i]), motion(to_view, b[i])});
  }
  state_->emit_dma(transfer);
}

void Builder::relabel(graph::TensorId from, graph::TensorId to) {
  const View a = state_->view(from);
  const View b = state_->view(to);
  check(a.partitions * a.free == b.partitions * b.free && a.origin == Motion{} &&
            b.origin == Motion{},
        "a relabelling keeps the number of elements");
  const End source = state_->end(from);
  const End destination = state_->end(to);
  // A linear range as seen from one end: partitions in SBUF, elements in HBM.
  const auto along = [](const End& end, std::int64_t partitions, std::int64_t elements) {
    return end.space == isa::Space::sbuf ? Motion{partitions, 0} : Motion{0, elements};
  };
  const bool source_linear = source.space == isa::Space::hbm;
  const bool destination_linear = destination.space == isa::Space::hbm;
  if (source_linear || destination_linear || a.free % b.free == 0 || b.free % a.free == 0) {
    // Rows of the side with the shorter ones; on the other side several of them make a row.
    const std::int64_t total = a.partitions * a.free;
    const std::int64_t rows_a = !source_linear ? a.free : destination_linear ? total : b.free;
    const std::int64_t rows_b = !destination_linear ? b.free : source_linear ? total : a.free;
    const std::int64_t inner = std::min(rows_a, rows_b);
    const std::int64_t outer = std::max(rows_a, rows_b);
    const auto step = [&](std::int64_t row, const End& end, std::int64_t count) {
      // `count` inner rows further; a whole number of the end's own rows, or inside one.
      return count * inner % row == 0 ? along(end, count * inner / row, count * inner)
                                      : Motion{0, count * inner};
    };
    state_->emit_dma({source,
                      destination,
                      {{total / outer, step(rows_a, source, outer / inner),
                        step(rows_b, destination, outer / inner)},
                       {outer / inner, step(rows_a, source, 1), step(rows_b, destination, 1)},
                       {inner, {0, 1}, {0, 1}}}});
    return;
  }
  isa::HbmTensor linear{state_->laid.graph.tensors[to].name + "/linear",
                        isa::Role::scratch,
                        source.dtype,
                        {a.partitions * a.free},
                        {0},
                        {a.partitions * a.free},
                        nullptr};
  End between;
  between.dtype = source.dtype;
  between.tensor = state_->program.tensors.add(std::move(linear));
  const auto rows = [](const View& view, bool to_linear) {
    const TransferStep across{view.partitions, {1, 0}, {0, view.free}};
    const TransferStep inside{view.free, {0, 1}, {0, 1}};
    const auto turned = [](const TransferStep& s) {
      return TransferStep{s.extent, s.destination, s.source};
    };
    return to_linear ? std::vector{across, inside} : std::vector{turned(across), turned(inside)};
  };
  state_->emit_dma({source, between, rows(a, true)});
  state_->emit_dma({between, destination, rows(b, false)});
}

void Builder::move_through_hbm(graph::TensorId from, graph::TensorId to) {
  const graph::Tensor& tensor = state_->laid.graph.tensors[to];
  const View a = state_->view(from);
  const View between = view_of(state_->laid.layouts[to], tensor.shape, false);
  const View b = state_->view(to);
  End storage;
  storage.dtype = state_->laid.storage[to];
  storage.tensor = state_->program.tensors.add(
      hbm_tensor(state_->laid, to, isa::Role::scratch, tensor.name + "/ordered"));
  Transfer out{state_->end(from), storage, {}};
  Transfer in{storage, state_->end(to), {}};
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    out.steps.push_back({tensor.shape[axis], a.axes[axis], between.axes[axis]});
    in.steps.push_back({tensor.shape[axis], between.axes[axis], b.axes[axis]});
  }
  state_->emit_dma(out);
  state_->emit_dma(in);
}

void Builder::bind(graph::TensorId tensor, isa::HbmTensor storage) {
  isa::TensorId& id = state_->tensors[state_->residency.root[tensor]];
  check(!id.valid(), "the storage of a tensor is bound once");
  id = state_->program.tensors.add(std::move(storage));
}

void Builder::store(graph::TensorId tensor, isa::HbmTensor storage) {
  const View from = state_->view(tensor);
  const View to =
      view_of(state_->laid.layouts[tensor], state_->laid.graph.tensors[tensor].shape, false);
  Transfer transfer{state_->end(tensor), {}, {}};
  transfer.destination.dtype = storage.dtype;
  transfer.destination.tensor = state_->program.tensors.add(std::move(storage));
  for (std::size_t axis = 0; axis < from.axes.size(); ++axis) {
    transfer.steps.push_back({from.shape[axis], from.axes[axis], to.axes[axis]});
  }
  state_->emit_dma(transfer);
}

}  // namespace systole::lower
