// Synchronisation: every counter has signals of one engine or one ring, so "the first n" is well defined. Loads go over
// the rings in turn, with one counter per ring. A buffer or PSUM bank is taken again when its last reader has finished.
#include "sim/validate/matmul.hpp"

#include <algorithm>
#include <vector>

#include "isa/base/error.hpp"
#include "sim/validate/kernel.hpp"

namespace systole::sim {
namespace {

using isa::Engine;
using Waits = std::vector<isa::SemaphoreWait>;

constexpr int tile = 128;
constexpr int wide = 512;
constexpr std::int64_t bank_bytes = 2048;
constexpr int store_ring = 15;

struct Matrices {
  isa::TensorId left;   // [K, M]
  isa::TensorId right;  // [K, N]
  isa::TensorId out;    // [M, N]
};

Matrices declare(Kernel& kernel, const Product& p) {
  check(p.m % tile == 0 && p.n % wide == 0 && p.k % tile == 0, "extents of a published product");
  return {kernel.matrix("left", isa::Role::input, p.dtype, p.k, p.m),
          kernel.matrix("right", isa::Role::input, p.dtype, p.k, p.n),
          kernel.matrix("out", isa::Role::output, p.dtype, p.m, p.n)};
}

class Loads {
 public:
  Loads(Kernel& kernel, int rings) : kernel_(kernel) {
    for (int r = 0; r < rings; ++r) {
      done_.push_back(kernel.counter());
    }
  }
  void load(const Tile& from, std::int64_t offset, Waits waits) {
    const std::size_t ring = next_++ % done_.size();
    kernel_.load(from, offset, static_cast<int>(ring), std::move(waits), done_[ring].signal());
  }
  // All loads so far are complete.
  [[nodiscard]] Waits all() const {
    Waits waits;
    for (const Counter& counter : done_) {
      waits.push_back(counter.now());
    }
    return waits;
  }

 private:
  Kernel& kernel_;
  std::vector<Counter> done_;
  std::size_t next_ = 0;
};

// Accumulation groups in rotating PSUM banks, evicted by the Vector engine.
class Groups {
 public:
  Groups(Kernel& kernel, int banks)
      : kernel_(kernel), banks_(banks), multiplied_(kernel.counter()), evicted_(kernel.counter()) {}

  // One step of group `group`; every multiply signals.
  void multiply(std::int32_t group, const isa::Access& stationary, const isa::Access& moving,
                bool first, Waits waits) {
    kernel_.emit(Engine::tensor, isa::LoadStationary{stationary, 0}, std::move(waits));
    isa::Multiply multiply;
    multiply.moving = moving;
    multiply.out = in_psum(static_cast<int>(isa::free_elements(stationary)),
                           isa::free_elements(moving), bank(group));
    multiply.accumulate = !first;
    Waits bank_free;
    if (first) {
      bank_free.push_back(evicted_.at(group - banks_ + 1));
    }
    kernel_.emit(Engine::tensor, multiply, std::move(bank_free), multiplied_.signal());
  }
  // to = PSUM of the group (+ sum). Call in order of groups, after the group's last multiply.
  void evict(std::int32_t group, const isa::Access& to, const isa::Access* sum, Waits waits) {
    waits.push_back(multiplied_.at(last_multiply(group)));
    const isa::Access from = in_psum(to.partitions, isa::free_elements(to), bank(group));
    if (sum != nullptr) {
      kernel_.emit(Engine::vector, isa::TensorTensor{from, *sum, to, isa::AluOp::add},
                   std::move(waits), evicted_.signal());
    } else {
      kernel_.emit(Engine::vector, isa::Copy{from, to}, std::move(waits), evicted_.signal());
    }
  }
  void end_group(std::int32_t group) {
    if (ends_.size() <= static_cast<std::size_t>(group)) {
      ends_.resize(static_cast<std::size_t>(group) + 1, 0);
    }
    ends_[static_cast<std::size_t>(group)] = multiplied_.count;
  }
  [[nodiscard]] const Counter& multiplied() const { return multiplied_; }
  [[nodiscard]] const Counter& evicted() const { return evicted_; }

 private:
  [[nodiscard]] std::int64_t bank(std::int32_t group) const { return group % banks_ * bank_bytes; }
  [[nodiscard]] std::int32_t last_multiply(std::int32_t group) const {
    return ends_[static_cast<std::size_t>(group)];
  }

  Kernel& kernel_;
  std::int32_t banks_;
  Counter multiplied_;
  Counter evicted_;
  std::vector<std::int32_t> ends_;  // multiplies up to the end of each group
};

// Result tiles of 128 rows on their way to HBM, in a ring of buffers.
class Stores {
 public:
  Stores(Kernel& kernel, isa::DType dtype, std::int64_t columns, std::int64_t offset,
         std::int32_t buffers)
      : kernel_(kernel),
        dtype_(dtype),
        columns_(columns),
        offset_(offset),
        buffers_(buffers),
        stored_(kernel.counter()) {}

  [[nodiscard]] isa::Access buffer() const {
    return in_sbuf(dtype_, tile, columns_,
                   offset_ + count_ % buffers_ * columns_ * isa::size_of(dtype_));
  }
  [[nodiscard]] isa::SemaphoreWait free() const { return stored_.at(count_ - buffers_ + 1); }
  void store(const Tile& to, isa::SemaphoreWait ready) {
    kernel_.store(to, buffer().offset, store_ring, {ready}, stored_.signal(), Engine::scalar);
    ++count_;
  }

 private:
  Kernel& kernel_;
  isa::DType dtype_;
  std::int64_t columns_;
  std::int64_t offset_;
  std::int32_t buffers_;
  std::int32_t count_ = 0;
  Counter stored_;
};

// Tiles of one operand in a ring of buffers.
struct Buffers {
  std::int64_t base = 0;
  std::int64_t bytes = 0;
  std::int32_t buffers = 0;
  std::vector<std::int32_t> last_use;  // per tile loaded: multiplies up to its last reader

  [[nodiscard]] std::int64_t next_offset() const {
    return base + static_cast<std::int64_t>(last_use.size()) % buffers * bytes;
  }
  // Multiplies that must have happened before the next tile is loaded.
  [[nodiscard]] std::int32_t needed() const {
    const auto count = static_cast<std::int32_t>(last_use.size());
    return count < buffers ? 0 : last_use[static_cast<std::size_t>(count - buffers)];
  }
};

}  // namespace

isa::Program streamed_product(const Product& p, const StreamedPlan& plan,
                              const isa::Machine& machine) {
  Kernel kernel("streamed product", machine);
  const Matrices matrices = declare(kernel, p);
  const std::int64_t size = isa::size_of(p.dtype);
  const std::int64_t tall = std::int64_t{tile} * plan.left_tiles;
  const int open = plan.left_tiles * plan.left_reuse;
  Buffers left{0, tall * size, plan.buffers, {}};
  Buffers right{left.base + left.bytes * plan.buffers, wide * size, plan.buffers, {}};
  Loads loads(kernel, plan.rings);
  Groups groups(kernel, machine.psum_banks);
  Stores stores(kernel, p.dtype, wide, right.base + right.bytes * plan.buffers, 8);
  std::int32_t first_group = 0;
  std::int32_t multiplies = 0;

  for (std::int64_t work = 0; work < plan.batch * (p.m / tall); ++work) {
    const std::int64_t m0 = work % (p.m / tall) * tall;
    for (std::int64_t n0 = 0; n0 < p.n; n0 += std::int64_t{wide} * plan.left_reuse) {
      for (std::int64_t k = 0; k < p.k; k += tile) {
        const std::int64_t left_at = left.next_offset();
        loads.load({matrices.left, p.m, k, m0, tile, tall}, left_at,
                   {groups.multiplied().at(left.needed())});
        left.last_use.push_back(multiplies + open);
        for (int g = 0; g < open; ++g) {
          const std::int64_t n = n0 + g % plan.left_reuse * wide;
          const std::int64_t right_at = right.next_offset();
          loads.load({matrices.right, p.n, k, n, tile, wide}, right_at,
                     {groups.multiplied().at(right.needed())});
          right.last_use.push_back(++multiplies);
          groups.multiply(first_group + g,
                          in_sbuf(p.dtype, tile, tile, left_at + g / plan.left_reuse * tile * size),
                          in_sbuf(p.dtype, tile, wide, right_at), k == 0, loads.all());
          groups.end_group(first_group + g);
        }
      }
      for (int g = 0; g < open; ++g) {
        groups.evict(first_group + g, stores.buffer(), nullptr, {stores.free()});
        const Tile to{
            matrices.out, p.n, m0 + g / plan.left_reuse * tile, n0 + g % plan.left_reuse * wide,
            tile,         wide};
        stores.store(to, groups.evicted().now());
      }
      first_group += open;
    }
  }
  return kernel.take();
}

isa::Program blocked_product(const Product& p, const BlockedPlan& plan,
                             const isa::Machine& machine) {
  Kernel kernel("blocked product", machine);
  const Matrices matrices = declare(kernel, p);
  const std::int64_t size = isa::size_of(p.dtype);
  const std::int64_t tiles_k = plan.k / tile;
  Buffers left{0, tiles_k * plan.m * size, 2, {}};
  Buffers right{left.bytes * 2, tiles_k * plan.n * size, 2, {}};
  const std::int64_t results = right.base + right.bytes * 2;
  const auto result_row = [&](std::int64_t m) {
    return in_sbuf(p.dtype, tile, plan.n, results + m / tile * plan.n * size);
  };
  Loads loads(kernel, plan.rings);
  Groups groups(kernel, machine.psum_banks);
  Stores stores(kernel, p.dtype, plan.n, results + p.m / tile * plan.n * size, 4);
  Counter packed = kernel.counter();
  std::int32_t group = 0;

  for (std::int64_t n0 = 0; n0 < p.n; n0 += plan.n) {
    for (std::int64_t m = 0; m < p.m; m += tile) {
      kernel.emit(Engine::vector, isa::Memset{result_row(m), 0.0F});
    }
    for (std::int64_t k0 = 0; k0 < p.k; k0 += plan.k) {
      const std::int64_t right_at = right.next_offset();
      for (std::int64_t k = 0; k < tiles_k; ++k) {
        loads.load({matrices.right, p.n, k0 + k * tile, n0, tile, plan.n},
                   right_at + k * plan.n * size, {groups.multiplied().at(right.needed())});
      }
      for (std::int64_t m0 = 0; m0 < p.m; m0 += plan.m) {
        const std::int64_t left_at = left.next_offset();
        for (std::int64_t k = 0; k < tiles_k; ++k) {
          loads.load({matrices.left, p.m, k0 + k * tile, m0, tile, plan.m},
                     left_at + k * plan.m * size, {groups.multiplied().at(left.needed())});
        }
        Waits loaded = loads.all();
        for (std::int64_t m = m0; m < m0 + plan.m; m += tile) {
          for (std::int64_t n = 0; n < plan.n; n += wide) {
            for (std::int64_t k = 0; k < tiles_k; ++k) {
              groups.multiply(
                  group, in_sbuf(p.dtype, tile, tile, left_at + (k * plan.m + m - m0) * size),
                  in_sbuf(p.dtype, tile, wide, right_at + (k * plan.n + n) * size), k == 0, loaded);
              loaded.clear();
            }
            groups.end_group(group);
            const isa::Access sum = in_sbuf(p.dtype, tile, wide, result_row(m).offset + n * size);
            groups.evict(group++, sum, &sum, {});
          }
        }
        left.last_use.push_back(groups.multiplied().count);
      }
      right.last_use.push_back(groups.multiplied().count);
    }
    for (std::int64_t m = 0; m < p.m; m += tile) {
      kernel.emit(Engine::vector, isa::Copy{result_row(m), stores.buffer()}, {stores.free()},
                  packed.signal());
      stores.store({matrices.out, p.n, m, n0, tile, plan.n}, packed.now());
    }
  }
  return kernel.take();
}

isa::Program resident_product(const Product& p, const ResidentPlan& plan,
                              const isa::Machine& machine) {
  Kernel kernel("resident product", machine);
  const Matrices matrices = declare(kernel, p);
  const std::int64_t size = isa::size_of(p.dtype);
  const std::int64_t tiles_k = p.k / tile;
  const std::int64_t right_base = tiles_k * p.m * size;
  Loads loads(kernel, plan.rings);
  Groups groups(kernel, plan.accumulators);
  Stores stores(kernel, p.dtype, wide, right_base + tiles_k * p.n * size, 8);

  // Chunks in the order in which (n outer, m inner) needs them: the first of the right operand, all of the left one,
  // the rest of the right one. after_left[i], after_right[i]: the waits for chunk i and everything before it.
  std::vector<Waits> after_left;
  std::vector<Waits> after_right;
  const auto load_chunk = [&](bool is_left, std::int64_t column) {
    const std::int64_t pitch = is_left ? p.m : p.n;
    for (std::int64_t k = 0; k < tiles_k; ++k) {
      const Tile from{is_left ? matrices.left : matrices.right,    pitch, k * tile, column, tile,
                      std::min<std::int64_t>(wide, pitch - column)};
      loads.load(from, (is_left ? 0 : right_base) + (k * pitch + column) * size, {});
    }
    (is_left ? after_left : after_right).push_back(loads.all());
  };
  load_chunk(false, 0);
  for (std::int64_t column = 0; column < p.m; column += wide) {
    load_chunk(true, column);
  }
  for (std::int64_t column = wide; column < p.n; column += wide) {
    load_chunk(false, column);
  }

  std::int32_t group = 0;
  for (std::int64_t n = 0; n < p.n; n += wide) {
    for (std::int64_t m = 0; m < p.m; m += tile) {
      Waits loaded;
      if (n == 0 && m % wide == 0) {
        loaded = after_left[static_cast<std::size_t>(m / wide)];
      } else if (m == 0) {
        loaded = after_right[static_cast<std::size_t>(n / wide)];
      }
      for (std::int64_t k = 0; k < tiles_k; ++k) {
        groups.multiply(group, in_sbuf(p.dtype, tile, tile, (k * p.m + m) * size),
                        in_sbuf(p.dtype, tile, wide, right_base + (k * p.n + n) * size), k == 0,
                        loaded);
        loaded.clear();
      }
      groups.end_group(group);
      groups.evict(group, stores.buffer(), nullptr, {stores.free()});
      stores.store({matrices.out, p.n, m, n, tile, wide}, groups.evicted().now());
      ++group;
    }
  }
  return kernel.take();
}

isa::Program transposing_product(const Product& p, const TransposingPlan& plan,
                                 const isa::Machine& machine) {
  constexpr int turned_buffers = 2;
  Kernel kernel(plan.transpose ? "product with transposes" : "product without transposes", machine);
  const Matrices matrices = declare(kernel, p);
  const isa::TensorId identity = kernel.matrix("identity", isa::Role::input, p.dtype, tile, tile);
  const std::int64_t size = isa::size_of(p.dtype);
  const std::int64_t left_bytes = p.k * size;  // all of k for 128 rows of the output; two sets
  const std::int64_t right_base = 2 * left_bytes;
  const std::int64_t turned_base = right_base + plan.buffers * wide * size;
  const std::int64_t identity_at = turned_base + turned_buffers * tile * size;
  Loads loads(kernel, plan.rings);
  Groups groups(kernel, 2);
  Stores stores(kernel, p.dtype, wide, identity_at + tile * size, 4);
  Counter turned = kernel.counter();
  Counter ready = kernel.counter();
  const auto steps_per_set = static_cast<std::int32_t>(p.n / wide * (p.k / tile));

  // All transfers, in order; what each set and step has to wait for.
  std::vector<Waits> set_loaded;
  std::vector<Waits> step_loaded;
  loads.load({identity, tile, 0, 0, tile, tile}, identity_at, {});
  for (std::int64_t m = 0; m < p.m; m += tile) {
    const auto set = static_cast<std::int32_t>(set_loaded.size());
    const std::int64_t left_at = set % 2 * left_bytes;
    const isa::SemaphoreWait free = groups.multiplied().at((set - 1) * steps_per_set);
    if (plan.transpose) {
      loads.load({matrices.left, p.k, m, 0, tile, p.k}, left_at, {free});
    } else {
      for (std::int64_t k = 0; k < p.k; k += tile) {
        loads.load({matrices.left, p.m, k, m, tile, tile}, left_at + k * size, {free});
      }
    }
    set_loaded.push_back(loads.all());
    for (std::int64_t n = 0; n < p.n; n += wide) {
      for (std::int64_t k = 0; k < p.k; k += tile) {
        const auto step = static_cast<std::int32_t>(step_loaded.size());
        loads.load({matrices.right, p.n, k, n, tile, wide},
                   right_base + step % plan.buffers * wide * size,
                   {groups.multiplied().at(step - plan.buffers + 1)});
        step_loaded.push_back(loads.all());
      }
    }
  }

  const auto left_tile = [&](std::int32_t step) {
    const std::int64_t k = step % (p.k / tile);
    return in_sbuf(p.dtype, tile, tile, step / steps_per_set % 2 * left_bytes + k * tile * size);
  };
  const auto turned_tile = [&](std::int32_t step) {
    return in_sbuf(p.dtype, tile, tile, turned_base + step % turned_buffers * tile * size);
  };
  const auto turn = [&](std::int32_t step) {
    Waits waits = set_loaded[static_cast<std::size_t>(step / steps_per_set)];
    waits.push_back(ready.at(step - turned_buffers + 1));
    kernel.emit(Engine::tensor, isa::LoadStationary{left_tile(step), 0}, std::move(waits));
    isa::Multiply multiply;
    multiply.moving = in_sbuf(p.dtype, tile, tile, identity_at);
    multiply.out =
        in_psum(tile, tile, (machine.psum_banks - 1 - step % turned_buffers) * bank_bytes);
    multiply.out.dtype = p.dtype;
    multiply.transpose_mode = true;
    kernel.emit(Engine::tensor, multiply, {}, turned.signal());
    kernel.emit(Engine::vector, isa::Copy{multiply.out, turned_tile(step)},
                {turned.now(), groups.multiplied().at(step - turned_buffers + 1)}, ready.signal());
  };

  const auto steps = static_cast<std::int32_t>(step_loaded.size());
  if (plan.transpose) {
    turn(0);
  }
  for (std::int32_t step = 0; step < steps; ++step) {
    if (plan.transpose && step + 1 < steps) {
      turn(step + 1);
    }
    Waits waits = step_loaded[static_cast<std::size_t>(step)];
    if (plan.transpose) {
      waits.push_back(ready.at(step + 1));
    }
    const auto k_tiles = static_cast<std::int32_t>(p.k / tile);
    const std::int32_t group = step / k_tiles;
    groups.multiply(group, plan.transpose ? turned_tile(step) : left_tile(step),
                    in_sbuf(p.dtype, tile, wide, right_base + step % plan.buffers * wide * size),
                    step % k_tiles == 0, std::move(waits));
    if (step % k_tiles == k_tiles - 1) {
      groups.end_group(group);
      groups.evict(group, stores.buffer(), nullptr, {stores.free()});
      const std::int64_t n = group % (p.n / wide) * wide;
      stores.store({matrices.out, p.n, group / (p.n / wide) * tile, n, tile, wide},
                   groups.evicted().now());
    }
  }
  return kernel.take();
}

}  // namespace systole::sim
