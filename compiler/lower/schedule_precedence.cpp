#include "compiler/lower/schedule_precedence.hpp"

#include <algorithm>

namespace systole::lower {
namespace {

// Nodes are named by count: node + 1.
class Builder final : public Joiner {
 public:
  Builder(const TileProgram& program, const Allocation& allocation)
      : program_(program),
        allocation_(allocation),
        nodes_(program.instructions.size()),
        last_use_(program.buffers.size()),
        tenants_(program.buffers.size()),
        tensors_(program.tensors.size()) {
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      for (const BufferId id : program.instructions[i].buffers) {
        last_use_[id] = i;
      }
      for_each_touch(program.instructions[i], [this](const Touch& touch) {
        if (touch.write && touch.tensor.valid() && tensors_[touch.tensor.index()] == nullptr) {
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

  [[nodiscard]] std::uint32_t join(const std::vector<std::uint32_t>& counts) override {
    if (counts.size() == 1) {
      return counts[0];
    }
    const auto joint = static_cast<std::uint32_t>(nodes_++);
    for (const std::uint32_t count : counts) {
      edges_.push_back({count - 1, joint});
    }
    return joint + 1;
  }

 private:
  struct Edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };
  struct Tenant {
    History history;
    std::uint32_t inherited = 0;  // count; 0: the bytes are fresh
    std::vector<std::uint32_t> all;
  };
  struct Needs {
    std::vector<std::uint32_t> counts;
    [[nodiscard]] static std::uint32_t of(int) { return 0; }
    void raise(int, std::uint32_t count) { counts.push_back(count); }
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
                         [&before](std::uint32_t count) { before.push_back(count); });
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
      slot->inherited = before.empty() ? 0 : join(before);
    }
    return *slot;
  }

  void link(std::uint32_t index) {
    const TileInstruction& item = program_.instructions[index];
    Needs needs;
    for_each_touch(item, [&](const Touch& touch) {
      if (touch.buffer.valid()) {
        const Tenant& place = tenant(touch.buffer);
        if (place.inherited > 0) {
          needs.counts.push_back(place.inherited);
        }
        place.history.collect(touch, needs);
      } else if (tensors_[touch.tensor.index()] != nullptr) {
        tensors_[touch.tensor.index()]->collect(touch, needs);
      }
    });
    lanes_.push_back(lane_of(item));
    if (lanes_.back() != Lane::none) {
      std::uint32_t& last = last_of_lane_[static_cast<std::size_t>(lanes_.back())];
      if (last > 0) {
        needs.counts.push_back(last);
      }
      last = index + 1;
    }
    std::sort(needs.counts.begin(), needs.counts.end());
    needs.counts.erase(std::unique(needs.counts.begin(), needs.counts.end()), needs.counts.end());
    for (const std::uint32_t count : needs.counts) {
      edges_.push_back({count - 1, index});
    }
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
        place.history.add(touch, static_cast<int>(index), index + 1, this);
        if (place.all.empty() || place.all.back() != index + 1) {
          place.all.push_back(index + 1);
        }
      } else if (tensors_[touch.tensor.index()] != nullptr) {
        tensors_[touch.tensor.index()]->add(touch, static_cast<int>(index), index + 1, this);
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

  [[nodiscard]] Precedence finish() const {
    Precedence out;
    out.lanes = lanes_;
    out.lanes.resize(nodes_, Lane::none);
    out.instructions = program_.instructions.size();
    out.needs.assign(nodes_, 0);
    out.first.assign(nodes_ + 1, 0);
    for (const Edge& edge : edges_) {
      ++out.needs[edge.to];
      ++out.first[edge.from + 1];
    }
    for (std::size_t node = 0; node < nodes_; ++node) {
      out.first[node + 1] += out.first[node];
    }
    out.successors.resize(edges_.size());
    std::vector<std::uint32_t> next(out.first.begin(), out.first.end() - 1);
    for (const Edge& edge : edges_) {
      out.successors[next[edge.from]++] = edge.to;
    }
    return out;
  }

  const TileProgram& program_;
  const Allocation& allocation_;
  std::size_t nodes_;
  std::vector<Edge> edges_;
  IdVector<BufferId, std::size_t> last_use_;
  std::vector<std::unique_ptr<Tenant>> tenants_;   // by buffer id; from first to last use
  std::vector<std::unique_ptr<History>> tensors_;  // by tensor id; of those that are written
  Ground<std::uint32_t> sbuf_, psum_;
  std::vector<Lane> lanes_;
  std::array<std::uint32_t, 3> last_of_lane_{};  // count
};

}  // namespace

Precedence precedence_of(const TileProgram& program, const Allocation& allocation) {
  return Builder(program, allocation).run();
}

}  // namespace systole::lower
