#include "compiler/lower/schedule_precedence.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>

#include "compiler/lower/schedule_history.hpp"

namespace systole::lower {
namespace {

struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

// near and far: the ends of an edge.
Neighbours neighbours(std::size_t nodes, const std::vector<Edge>& edges, std::uint32_t Edge::*near,
                      std::uint32_t Edge::*far) {
  Neighbours out;
  out.first.assign(nodes + 1, 0);
  for (const Edge& edge : edges) {
    ++out.first[edge.*near + 1];
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    out.first[node + 1] += out.first[node];
  }
  out.nodes.resize(edges.size());
  std::vector<std::uint32_t> next(out.first.begin(), out.first.end() - 1);
  for (const Edge& edge : edges) {
    out.nodes[next[edge.*near]++] = edge.*far;
  }
  return out;
}

class Builder final : public Joiner {
 public:
  Builder(const TileProgram& program, const Allocation& allocation)
      : program_(program),
        allocation_(allocation),
        nodes_(program.instructions.size()),
        last_use_(program.buffers.size()),
        tenants_(program.buffers.size()),
        last_touch_(program.tensors.size()),
        tensors_(program.tensors.size()) {
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      for (const BufferId id : program.instructions[i].buffers) {
        last_use_[id] = i;
      }
      for_each_touch(program.instructions[i], [&](const Touch& touch) {
        if (!touch.tensor.valid()) {
          return;
        }
        last_touch_[touch.tensor] = i;
        if (touch.write && tensors_[touch.tensor.index()] == nullptr) {
          tensors_[touch.tensor.index()] =
              std::make_unique<History>(isa::storage_bytes(program_.tensors[touch.tensor]));
        }
      });
    }
  }

  [[nodiscard]] Precedence run() {
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      link(static_cast<std::uint32_t>(i));
      record(static_cast<std::uint32_t>(i));
    }
    return finish();
  }

  [[nodiscard]] std::uint32_t join(const std::vector<std::uint32_t>& nodes) override {
    if (nodes.size() == 1) {
      return nodes[0];
    }
    const auto joint = static_cast<std::uint32_t>(nodes_++);
    for (const std::uint32_t node : nodes) {
      edges_.push_back({node, joint});
    }
    return joint;
  }

 private:
  struct Tenant {
    History history;
    std::optional<std::uint32_t> inherited;  // none: the bytes are fresh
    std::vector<std::uint32_t> all;
  };

  Ground<std::uint32_t>& ground(BufferId id) {
    return program_.buffers[id].space == isa::Space::psum ? psum_ : sbuf_;
  }

  Tenant& tenant(BufferId id) {
    std::unique_ptr<Tenant>& slot = tenants_[id.index()];
    if (slot == nullptr) {
      slot = std::make_unique<Tenant>();
      const std::int64_t at = allocation_.offsets[id];
      std::vector<std::uint32_t> before;
      ground(id).inherit(at, at + program_.buffers[id].bytes,
                         [&before](std::uint32_t node) { before.push_back(node); });
      make_unique(before);
      if (!before.empty()) {
        slot->inherited = join(before);
      }
    }
    return *slot;
  }

  void link(std::uint32_t index) {
    const TileInstruction& item = program_.instructions[index];
    needs_.clear();
    for_each_touch(item, [&](const Touch& touch) {
      if (touch.buffer.valid()) {
        const Tenant& place = tenant(touch.buffer);
        if (place.inherited) {
          needs_.push_back(*place.inherited);
        }
        place.history.collect(touch, needs_);
      } else if (tensors_[touch.tensor.index()] != nullptr) {
        tensors_[touch.tensor.index()]->collect(touch, needs_);
      }
    });
    make_unique(needs_);
    for (const std::uint32_t node : needs_) {
      edges_.push_back({node, index});
    }
    lanes_.push_back(lane_of(item));
    if (lanes_.back() == Lane::none) {
      return;
    }
    std::optional<std::uint32_t>& last = last_of_lane_[static_cast<std::size_t>(lanes_.back())];
    if (last && !std::binary_search(needs_.begin(), needs_.end(), *last)) {
      turns_.push_back({*last, index});
    }
    last = index;
  }

  static void make_unique(std::vector<std::uint32_t>& nodes) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  }

  [[nodiscard]] Lane lane_of(const TileInstruction& item) const {
    if (item.instruction.engine == isa::Engine::tensor) {
      return Lane::tensor;
    }
    const auto* dma = item.instruction.operation.get_if<isa::Dma>();
    const bool load = dma != nullptr && dma->source.space == isa::Space::hbm &&
                      dma->destination.space != isa::Space::hbm &&
                      tensors_[dma->source.tensor.index()] == nullptr;
    return load ? Lane::loads : Lane::none;
  }

  void record(std::uint32_t index) {
    const TileInstruction& item = program_.instructions[index];
    for_each_touch(item, [&](const Touch& touch) {
      if (touch.buffer.valid()) {
        Tenant& place = tenant(touch.buffer);
        place.history.add(touch, index, *this);
        if (place.all.empty() || place.all.back() != index) {
          place.all.push_back(index);
        }
      } else if (tensors_[touch.tensor.index()] != nullptr) {
        std::unique_ptr<History>& history = tensors_[touch.tensor.index()];
        history->add(touch, index, *this);
        if (last_touch_[touch.tensor] == index) {
          history.reset();
        }
      }
    });
    for (const BufferId id : item.buffers) {
      if (last_use_[id] == index && tenants_[id.index()] != nullptr) {
        const std::int64_t at = allocation_.offsets[id];
        ground(id).leave(at, at + program_.buffers[id].bytes, join(tenants_[id.index()]->all));
        tenants_[id.index()].reset();
      }
    }
  }

  [[nodiscard]] Precedence finish() {
    Precedence out;
    out.instructions = program_.instructions.size();
    out.lanes = std::move(lanes_);
    out.lanes.resize(nodes_, Lane::none);
    out.before = neighbours(nodes_, edges_, &Edge::to, &Edge::from);
    edges_.insert(edges_.end(), turns_.begin(), turns_.end());
    out.after = neighbours(nodes_, edges_, &Edge::from, &Edge::to);
    return out;
  }

  const TileProgram& program_;
  const Allocation& allocation_;
  std::size_t nodes_;
  std::vector<Edge> edges_, turns_;
  IdVector<BufferId, std::size_t> last_use_;
  std::vector<std::unique_ptr<Tenant>> tenants_;  // by buffer id; from first to last use
  IdVector<isa::TensorId, std::size_t> last_touch_;
  std::vector<std::unique_ptr<History>> tensors_;  // by id; of those written at all, to last touch
  Ground<std::uint32_t> sbuf_, psum_;
  std::vector<Lane> lanes_;
  std::array<std::optional<std::uint32_t>, 3> last_of_lane_;
  std::vector<std::uint32_t> needs_;  // of the instruction that is being linked
};

}  // namespace

Precedence precedence_of(const TileProgram& program, const Allocation& allocation) {
  return Builder(program, allocation).run();
}

}  // namespace systole::lower
