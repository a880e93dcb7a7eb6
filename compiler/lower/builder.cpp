#include "compiler/lower/builder.hpp"

#include <algorithm>
#include <utility>

#include "compiler/lower/builder_state.hpp"
#include "compiler/lower/pieces.hpp"
#include "compiler/lower/strip.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

bool empty(const Region& region) {
  return region.partitions.extent == 0 ||
         std::ranges::any_of(region.free, [](const Span& s) { return s.extent == 0; });
}

bool by_blocks(const Region& region, const isa::Machine& machine) {
  return region.blocks || region.partitions.extent > machine.partitions;
}

// Extents of a dense tile for the region, its blocks first if it has them.
std::vector<std::int64_t> extents_of(const Region& region, const isa::Machine& machine) {
  std::vector<std::int64_t> out;
  if (by_blocks(region, machine)) {
    check(region.partitions.begin % machine.partitions == 0 &&
              region.partitions.extent % machine.partitions == 0,
          "a region of several blocks has whole ones");
    out.push_back(region.partitions.extent / machine.partitions);
  }
  for (const Span& span : region.free) {
    out.push_back(span.extent);
  }
  return out;
}

}  // namespace

End end_of(const Tile& tile) {
  check(tile.space == isa::Space::sbuf, "DMA does not reach PSUM");
  End out;
  out.space = isa::Space::sbuf;
  out.dtype = tile.dtype;
  out.buffer = tile.buffer;
  out.partition = tile.partition;
  out.bytes = tile.offset;
  return out;
}

Region whole(const layout::LaidGraph& laid, graph::TensorId tensor) {
  const View view = view_of(laid.layouts[tensor], laid.graph.tensors[tensor].shape, true);
  Region out;
  out.partitions = {0, view.partitions};
  for (const int axis : view.free_axes) {
    out.free.push_back({0, view.shape[at(axis)]});
  }
  return out;
}

View Builder::State::view(graph::TensorId tensor) const {
  View out = view_of(laid.layouts[tensor], laid.graph.tensors[tensor].shape, resident(tensor));
  const Window& window = residency.window[tensor];
  if (window.of.valid()) {
    const View base = view(window.of);
    const Motion& along = base.axes[at(window.axis)];
    out.axes = base.axes;
    out.free = base.free;
    out.origin = {base.origin.partitions + window.begin * along.partitions,
                  base.origin.elements + window.begin * along.elements};
  }
  return out;
}

BufferId Builder::State::buffer(graph::TensorId tensor) {
  BufferId& id = buffers[residency.root[tensor]];
  if (!id.valid()) {
    const graph::TensorId root = residency.root[tensor];
    id = program.buffers.add({isa::Space::sbuf, resident_bytes(laid, root, machine),
                              laid.graph.tensors[root].name, true});
  }
  return id;
}

isa::TensorId Builder::State::hbm(graph::TensorId tensor) {
  isa::TensorId& id = tensors[residency.root[tensor]];
  if (!id.valid()) {
    const graph::TensorId root = residency.root[tensor];
    const bool constant = laid.graph.tensors[root].kind == graph::TensorKind::constant;
    id = program.tensors.add(hbm_tensor(laid, root,
                                        constant ? isa::Role::constant : isa::Role::scratch,
                                        laid.graph.tensors[root].name));
  }
  return id;
}

End Builder::State::end(graph::TensorId tensor) {
  End out;
  out.dtype = laid.storage[tensor];
  const View v = view(tensor);
  out.elements = v.origin.elements;
  if (resident(tensor)) {
    out.space = isa::Space::sbuf;
    out.buffer = buffer(tensor);
    out.partition = v.origin.partitions;
    out.block = v.free;
  } else {
    out.tensor = hbm(tensor);
  }
  return out;
}

std::optional<Tile> Builder::State::in_place(graph::TensorId tensor, const Region& region) {
  if (!resident(tensor)) {
    return {};
  }
  const View v = view(tensor);
  const std::int64_t partitions = machine.partitions;
  const std::int64_t begin = v.origin.partitions + region.partitions.begin;
  const std::int64_t extent = region.partitions.extent;
  Tile out;
  out.dtype = laid.storage[tensor];
  out.partition = static_cast<int>(begin % partitions);
  out.partitions = static_cast<int>(std::min(extent, partitions));
  if (by_blocks(region, machine)) {
    out.dims.push_back(make_dim(v.free, extents_of(region, machine)[0]));
  } else if (begin / partitions != (begin + extent - 1) / partitions ||
             out.partition % isa::start_step(machine, out.partitions) != 0) {
    return {};
  }
  std::int64_t elements = v.origin.elements + begin / partitions * v.free;
  check(region.free.size() == v.free_axes.size(), "region of another rank");
  for (std::size_t i = 0; i < region.free.size(); ++i) {
    const std::int64_t stride = v.axes[at(v.free_axes[i])].elements;
    elements += region.free[i].begin * stride;
    out.dims.push_back(make_dim(stride, region.free[i].extent));
  }
  out.buffer = buffer(tensor);
  out.offset = elements * isa::size_of(out.dtype);
  return out;
}

Tile Builder::State::fresh(graph::TensorId tensor, const Region& region, isa::DType dtype,
                           int partition) {
  Tile out;
  out.dtype = dtype;
  out.partition = partition;
  out.partitions =
      static_cast<int>(std::min<std::int64_t>(region.partitions.extent, machine.partitions));
  const std::vector<std::int64_t> extents = extents_of(region, machine);
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) {
    out.dims.push_back(make_dim(0, extent));
  }
  for (auto dim = out.dims.rbegin(); dim != out.dims.rend(); ++dim) {
    *dim = make_dim(elements, dim->extent);
    elements *= dim->extent;
  }
  out.buffer = program.buffers.add({isa::Space::sbuf, rounded_up(elements * isa::size_of(dtype), 4),
                                    laid.graph.tensors[tensor].name});
  return out;
}

Transfer Builder::State::transfer(graph::TensorId tensor, const Region& region, const Tile& tile,
                                  bool to_tile) {
  const View v = view(tensor);
  End storage = end(tensor);
  const bool on_chip = storage.space == isa::Space::sbuf;
  std::vector<TransferStep> steps;
  const auto add = [&](std::int64_t extent, Motion in_storage, Motion in_tile) {
    steps.push_back(to_tile ? TransferStep{extent, in_storage, in_tile}
                            : TransferStep{extent, in_tile, in_storage});
  };
  const Motion next = on_chip ? Motion{1, 0} : Motion{0, v.free};
  (on_chip ? storage.partition : storage.elements) +=
      region.partitions.begin * (on_chip ? 1 : v.free);
  std::size_t d = 0;
  if (by_blocks(region, machine)) {
    const Motion block{next.partitions * machine.partitions, next.elements * machine.partitions};
    add(tile.dims[d].extent, block, {0, tile.dims[d].stride});
    ++d;
  }
  add(tile.partitions, next, {1, 0});
  for (std::size_t i = 0; i < region.free.size(); ++i, ++d) {
    const std::int64_t stride = v.axes[at(v.free_axes[i])].elements;
    storage.elements += region.free[i].begin * stride;
    add(region.free[i].extent, {0, stride}, {0, tile.dims[d].stride});
  }
  return to_tile ? Transfer{storage, end_of(tile), steps} : Transfer{end_of(tile), storage, steps};
}

Transfer Builder::State::transfer(graph::TensorId tensor, const Walk& walk, const Tile& tile,
                                  bool to_tile) {
  const View v = view(tensor);
  End storage = end(tensor);
  check(walk.begin.size() == v.axes.size(), "walk of another rank");
  for (std::size_t axis = 0; axis < v.axes.size(); ++axis) {
    storage.partition += walk.begin[axis] * v.axes[axis].partitions;
    storage.elements += walk.begin[axis] * v.axes[axis].elements;
  }
  std::vector<TransferStep> steps;
  const auto add = [&](const Step& step, Motion in_tile) {
    Motion in_storage;
    if (step.axis >= 0) {
      const Motion& axis = v.axes[at(step.axis)];
      in_storage = {axis.partitions * step.step, axis.elements * step.step};
    }
    steps.push_back(to_tile ? TransferStep{step.extent, in_storage, in_tile}
                            : TransferStep{step.extent, in_tile, in_storage});
  };
  check(walk.free.size() == tile.dims.size(), "walk and tile differ in dims");
  std::int64_t across = 1;
  for (auto step = walk.partitions.rbegin(); step != walk.partitions.rend(); ++step) {
    add(*step, {across, 0});
    across *= step->extent;
  }
  check(across == tile.partitions, "walk and tile differ in partitions");
  for (std::size_t d = 0; d < walk.free.size(); ++d) {
    check(walk.free[d].extent == tile.dims[d].extent, "walk and tile differ in extents");
    add(walk.free[d], {0, tile.dims[d].stride});
  }
  return to_tile ? Transfer{storage, end_of(tile), steps} : Transfer{end_of(tile), storage, steps};
}

void Builder::State::emit_dma(const Transfer& transfer) {
  plan_dma(transfer, machine, [this](PlannedDma planned) {
    TileInstruction out;
    out.instruction.engine = isa::Engine::sync;
    out.instruction.source = source;
    out.instruction.operation = planned.dma;
    out.buffers = std::move(planned.buffers);
    out.any_engine = true;
    program.instructions.push_back(std::move(out));
  });
}

Builder::Builder(const layout::LaidGraph& laid, const Residency& residency,
                 const isa::Machine& machine)
    : state_(std::make_shared<State>(
          State{laid, residency, machine, {}, {}, {}, 0, {}, {}, {}, {}, {}, 0})) {
  state_->program.name = laid.graph.name;
  state_->buffers.resize(laid.graph.tensors.size());
  state_->tensors.resize(laid.graph.tensors.size());
  state_->staging = residency.staging(graph::NodeId(), machine);
}

const layout::LaidGraph& Builder::laid() const {
  return state_->laid;
}

const isa::Machine& Builder::machine() const {
  return state_->machine;
}

std::int64_t Builder::staging_bytes() const {
  return state_->staging;
}

void Builder::begin_node(graph::NodeId node) {
  state_->staging = state_->residency.staging(node, state_->machine);
}

void Builder::begin_source(std::string name, isa::SourceKind kind) {
  state_->source = add_source(std::move(name), kind);
}

Tile Builder::read(graph::TensorId tensor, const Region& region) {
  return read(tensor, region, ReadOptions{});
}

Tile Builder::read(graph::TensorId tensor, const Region& region, const ReadOptions& options) {
  const isa::DType dtype = options.any_dtype ? state_->laid.storage[tensor] : options.dtype;
  const int partition = std::max(options.partition, 0);
  if (empty(region)) {
    return state_->fresh(tensor, region, dtype, partition);
  }
  std::optional<Tile> placed = state_->in_place(tensor, region);
  if (placed && dtype == placed->dtype &&
      (options.partition < 0 || options.partition == placed->partition)) {
    return *placed;
  }
  if (placed) {
    const Tile out = state_->fresh(tensor, region, dtype, partition);
    copy(out, *placed);
    return out;
  }
  if (std::optional<Tile> window = read_window_of_held(tensor, region, options)) {
    return *window;
  }
  std::vector<std::int64_t> piece{static_cast<std::int64_t>(dtype), partition,
                                  region.blocks ? 1 : 0, region.partitions.begin,
                                  region.partitions.extent};
  for (const Span& span : region.free) {
    piece.insert(piece.end(), {span.begin, span.extent});
  }
  return held(tensor, std::move(piece), [&] {
    Tile out = state_->fresh(tensor, region, dtype, partition);
    state_->emit_dma(state_->transfer(tensor, region, out, true));
    return out;
  });
}

// Of a held tensor whole rows are loaded, once for all its windows.
std::optional<Tile> Builder::read_window_of_held(graph::TensorId tensor, const Region& region,
                                                 const ReadOptions& options) {
  const Window& window = state_->residency.window[tensor];
  if (!window.of.valid() || !is_held(state_->laid, window.of)) {
    return std::nullopt;
  }
  const std::vector<int> axes = state_->view(tensor).free_axes;
  const auto place = std::ranges::find(axes, window.axis) - axes.begin();
  if (place == static_cast<std::ptrdiff_t>(axes.size())) {
    return std::nullopt;
  }
  Region rows = region;
  const Span part =
      std::exchange(rows.free[static_cast<std::size_t>(place)],
                    {0, state_->laid.graph.tensors[window.of].shape[at(window.axis)]});
  const Tile out = read(window.of, rows, options);
  const int dim = static_cast<int>(place) + (by_blocks(region, state_->machine) ? 1 : 0);
  return slice(out, dim, window.begin + part.begin, part.extent);
}

Tile Builder::held(graph::TensorId tensor, std::vector<std::int64_t> piece,
                   const std::function<Tile()>& load) {
  if (!is_held(state_->laid, tensor)) {
    return load();
  }
  piece.push_back(static_cast<std::int64_t>(tensor.index()));
  const auto known = state_->held.find(piece);
  if (known != state_->held.end()) {
    return known->second;
  }
  return state_->held.emplace(std::move(piece), load()).first->second;
}

Tile Builder::kept(graph::TensorId tensor, std::vector<std::int64_t> piece,
                   const std::function<Tile()>& make) {
  constexpr std::int64_t part = 64;  // of SBUF, for all that is kept
  constexpr std::int64_t is_kept = -2;
  piece.insert(piece.end(), {static_cast<std::int64_t>(tensor.index()), is_kept});
  const auto known = state_->held.find(piece);
  if (known != state_->held.end()) {
    return known->second;
  }
  const Tile tile = make();
  Buffer& buffer = state_->program.buffers[tile.buffer];
  if (state_->kept_bytes + buffer.bytes <= state_->machine.sbuf_bytes / part) {
    state_->kept_bytes += buffer.bytes;
    buffer.lasting = true;
    state_->held.emplace(std::move(piece), tile);
  }
  return tile;
}

Tile Builder::gather(graph::TensorId tensor, const Walk& walk, const ReadOptions& options,
                     int partition) {
  const isa::DType dtype = options.any_dtype ? state_->laid.storage[tensor] : options.dtype;
  std::int64_t partitions = 1;
  for (const Step& step : walk.partitions) {
    partitions *= step.extent;
  }
  std::vector<std::int64_t> extents;
  for (const Step& step : walk.free) {
    extents.push_back(step.extent);
  }
  const Tile out = scratch(static_cast<int>(partitions), std::move(extents), dtype,
                           state_->laid.graph.tensors[tensor].name, partition);
  load(out, tensor, walk);
  return out;
}

void Builder::load(const Tile& tile, graph::TensorId tensor, const Walk& walk) {
  Transfer transfer = state_->transfer(tensor, walk, tile, true);
  transfer.transpose = walk.transpose;
  state_->emit_dma(transfer);
}

void Builder::scatter(const Tile& tile, graph::TensorId tensor, const Walk& walk) {
  state_->emit_dma(state_->transfer(tensor, walk, tile, false));
}

Tile Builder::write(graph::TensorId tensor, const Region& region) {
  if (Epilogue* epilogue = state_->epilogue(tensor)) {
    return epilogue->open(region);
  }
  if (!empty(region)) {
    if (std::optional<Tile> placed = state_->in_place(tensor, region)) {
      return *placed;
    }
  }
  return state_->fresh(tensor, region, state_->laid.storage[tensor], 0);
}

void Builder::finish(graph::TensorId tensor, const Region& region, const Tile& tile) {
  if (Epilogue* epilogue = state_->epilogue(tensor)) {
    epilogue->close(region, tile);
    return;
  }
  if (empty(region) || (state_->resident(tensor) && tile.buffer == state_->buffer(tensor))) {
    return;
  }
  state_->emit_dma(state_->transfer(tensor, region, tile, false));
}

bool Builder::writes_in_place(graph::TensorId tensor, const Region& region) const {
  if (const Epilogue* epilogue = state_->epilogue(tensor)) {
    return epilogue->in_place(region);
  }
  return !empty(region) && state_->in_place(tensor, region).has_value();
}

bool Builder::is_resident(graph::TensorId tensor) const {
  const Epilogue* epilogue = state_->epilogue(tensor);
  return epilogue != nullptr ? epilogue->resident() : state_->resident(tensor);
}

isa::SourceId Builder::add_source(std::string name, isa::SourceKind kind) {
  // The strips of a node have one name.
  const auto [known, fresh] = state_->sources.try_emplace({name, kind});
  if (fresh) {
    known->second = state_->program.sources.add({std::move(name), kind});
  }
  return known->second;
}

isa::SourceId Builder::charge(isa::SourceId source) {
  return std::exchange(state_->source, source);
}

isa::SourceId Builder::source() const {
  return state_->source;
}

const std::vector<graph::NodeId>& Builder::followers(graph::NodeId node) const {
  return state_->residency.fusion.followers[node];
}

const std::vector<graph::NodeId>& Builder::reducers(graph::NodeId node) const {
  return state_->residency.fusion.reducers[node];
}

bool Builder::is_stored(graph::TensorId tensor) const {
  return state_->residency.fusion.inlined[tensor] == 0;
}

void Builder::attach(graph::TensorId tensor, std::shared_ptr<Epilogue> epilogue) {
  state_->epilogues[tensor] = std::move(epilogue);
}

void Builder::detach(graph::TensorId tensor) {
  state_->epilogues.erase(tensor);
}

std::vector<TileInstruction>& Builder::emitted() {
  return state_->program.instructions;
}

isa::TensorId Builder::hbm(graph::TensorId tensor) {
  check(!state_->resident(tensor) && !state_->residency.window[tensor].of.valid(),
        "the tensor has HBM storage of its own");
  return state_->hbm(tensor);
}

Tile Builder::scratch(int partitions, std::vector<std::int64_t> extents, isa::DType dtype,
                      std::string name, int partition) {
  Tile out;
  out.dtype = dtype;
  out.partition = partition;
  out.partitions = partitions;
  std::int64_t elements = 1;
  out.dims.resize(extents.size());
  for (std::size_t d = extents.size(); d-- > 0;) {
    out.dims[d] = make_dim(elements, extents[d]);
    elements *= extents[d];
  }
  out.buffer = state_->program.buffers.add(
      {isa::Space::sbuf, rounded_up(elements * isa::size_of(dtype), 4), std::move(name)});
  return out;
}

Tile Builder::psum(int partitions, std::vector<std::int64_t> extents, std::string name,
                   int partition) {
  Tile out = scratch(partitions, std::move(extents), isa::DType::f32, std::move(name), partition);
  out.space = isa::Space::psum;
  Buffer& buffer = state_->program.buffers[out.buffer];
  buffer.space = isa::Space::psum;
  buffer.bytes = rounded_up(buffer.bytes, state_->machine.psum_bank_bytes);
  return out;
}

TileProgram Builder::take() {
  return std::move(state_->program);
}

}  // namespace systole::lower
