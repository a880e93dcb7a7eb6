// The choice: all combinations of block sizes on a grid (doubling from one tile) that fit the
// budget, each with its estimated time; the least one wins, ties go to the smaller block. The
// estimate is the largest of tensor-engine time (with the load that nothing can hide at the start),
// vector and DMA time, and a part of the others. Rates are the published ones, in ticks as in
// schedule_engines; they only have to rank the candidates.
#include "compiler/lower/kernels/contraction_blocking.hpp"

#include "compiler/lower/kernels/contraction_turn.hpp"

#include <algorithm>
#include <limits>

namespace systole::lower {
namespace {

constexpr std::int64_t ticks_per_column = 2;
constexpr std::int64_t columns_min = 64;         // no instruction is shorter
constexpr std::int64_t columns_of_switch = 64;   // other weights: columns lost
constexpr std::int64_t ticks_per_element = 5;    // vector engine
constexpr std::int64_t eviction_overhead = 300;  // ticks
constexpr std::int64_t bytes_per_tick = 48;      // all DMA engines
constexpr std::int64_t ticks_per_row = 22;       // of a DMA descriptor, all engines together
constexpr std::int64_t friction_share = 8;       // of what overlaps, this part shows all the same
constexpr std::int64_t buffer_unit = 64;         // bytes; allocation rounds to it

std::int64_t parts(std::int64_t total, std::int64_t size) {
  return (total + size - 1) / size;
}

std::int64_t rounded(std::int64_t bytes) {
  return parts(bytes, buffer_unit) * buffer_unit;
}

std::vector<std::int64_t> grid(std::int64_t unit, std::int64_t total) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = unit; size < total; size *= 2) {
    sizes.push_back(size);
  }
  sizes.push_back(total);
  return sizes;
}

class Search {
 public:
  explicit Search(const BlockingTask& task)
      : task_(task),
        space_(task.space),
        m_(space_.extent(space_.m)),
        n_(space_.extent(space_.n)),
        k_free_(space_.extent(space_.k_free)),
        batches_(space_.extent(space_.batch)),
        steps_(task.row_parts * k_free_) {}

  Blocking run() {
    for (const std::int64_t m : grid(task_.machine.array_columns, m_)) {
      for (const std::int64_t n : grid(task_.machine.moving_max, n_)) {
        for (const std::int64_t k_parts : grid(1, task_.row_parts)) {
          consider(m, n, k_parts * k_free_, true);
        }
        if (k_free_ > 1) {
          for (const std::int64_t k : grid(1, steps_)) {
            consider(m, n, k, false);
          }
        }
      }
    }
    return best_;
  }

 private:
  void consider(std::int64_t m, std::int64_t n, std::int64_t k_steps, bool k_free_whole) {
    if (k_steps > task_.k_steps_max) {
      return;
    }
    Blocking blocking;
    blocking.m = m;
    blocking.n = n;
    blocking.k_steps = k_steps;
    blocking.k_free_whole = k_free_whole;
    blocking.stationary = task_.stationary;
    blocking.moving = task_.moving;
    group(blocking);
    const std::int64_t memory = room(blocking);
    const std::int64_t time = estimate(blocking);  // fills bound_by_loads in
    const bool fits = memory <= task_.budget;
    // Until something fits, the smallest is kept: the allocator has the last word on it.
    if (fits ? (!best_fits_ || time < best_time_) : (!best_fits_ && memory < best_memory_)) {
      best_ = blocking;
      best_fits_ = fits;
      best_time_ = time;
      best_memory_ = memory;
    }
  }

  // Half of the banks, so that the other half is evicted meanwhile; all of them if nothing comes
  // after.
  void group(Blocking& blocking) const {
    const std::int64_t all_n = parts(blocking.n, task_.machine.moving_max);
    const std::int64_t all_m = parts(blocking.m, task_.machine.array_columns);
    const std::int64_t banks = task_.machine.psum_banks;
    const bool only_group = one_k_block(blocking) && batches_ == 1 && blocking.n >= n_ &&
                            blocking.m >= m_ && all_n * all_m <= banks;
    const std::int64_t tiles = only_group ? banks : std::max<std::int64_t>(1, banks / 2);
    blocking.n_tiles = std::clamp<std::int64_t>(all_n, 1, tiles);
    blocking.m_tiles = std::clamp<std::int64_t>(all_m, 1, tiles / blocking.n_tiles);
    blocking.first_m_tiles = blocking.m_tiles;
    if (!only_group && blocking.k_steps >= 2 * banks) {
      blocking.first_m_tiles = std::clamp<std::int64_t>(all_m, 1, banks / blocking.n_tiles);
    }
  }

  [[nodiscard]] bool one_k_block(const Blocking& b) const {
    return b.k_steps >= steps_ && task_.passes == 1;
  }

  // Times that an operand's block set is loaded in all.
  [[nodiscard]] std::int64_t stationary_loads(const Blocking& b) const {
    const std::int64_t blocks = parts(m_, b.m);
    const bool kept = one_k_block(b) && blocks == 1;
    return kept ? 1 : parts(n_, b.n);
  }
  [[nodiscard]] std::int64_t moving_loads(const Blocking& b) const {
    return one_k_block(b) ? 1 : parts(m_, b.m);
  }

  [[nodiscard]] std::int64_t operand_room(const Streamed& operand, const Blocking& b,
                                          std::int64_t width, bool once) const {
    if (!operand.loaded) {
      return 0;
    }
    const std::int64_t loads = b.k_free_whole ? parts(b.k_steps, k_free_) : b.k_steps;
    const std::int64_t values = width * (b.k_free_whole ? k_free_ : 1);
    const std::int64_t bytes = loads * rounded(values * operand.element_bytes) * (once ? 1 : 2);
    if (!operand.turned) {
      return bytes;
    }
    // Pieces of the source, each as wide as the array is high, for this group and the next.
    const std::int64_t pieces =
        parts(b.m_tiles * task_.machine.array_columns, task_.machine.partitions);
    return bytes + 2 * pieces *
                       rounded(turned_row(task_.machine, space_.extent(space_.k_rows)) *
                               operand.element_bytes);
  }

  [[nodiscard]] std::int64_t room(const Blocking& b) const {
    const bool whole_m = one_k_block(b) && b.m >= m_ && batches_ == 1;
    const bool whole_n = one_k_block(b) && b.n >= n_ && batches_ == 1;
    const std::int64_t tile_n = std::min(b.n, b.n_tiles * task_.machine.moving_max);
    std::int64_t bytes =
        operand_room(b.stationary, b, b.m, whole_m) + operand_room(b.moving, b, b.n, whole_n);
    if (!one_k_block(b)) {
      const std::int64_t rows = parts(b.m, task_.machine.array_columns);
      bytes += rows * parts(b.n, tile_n) * rounded(tile_n * 4);
    }
    if (task_.out_staged) {
      bytes += 2 * b.m_tiles * rounded(tile_n * task_.out_bytes);
    }
    return bytes;
  }

  [[nodiscard]] std::int64_t transfer(const Placed& placed, const Streamed& operand,
                                      const Ranges& box, std::int64_t width,
                                      std::int64_t loads) const {
    if (!operand.loaded) {
      return 0;
    }
    const std::int64_t elements = width * k_free_ * batches_ * space_.extent(space_.k_rows) * loads;
    const std::int64_t run = operand.turned
                                 ? turned_row(task_.machine, space_.extent(space_.k_rows))
                                 : run_length(placed, space_, box);
    const std::int64_t rows = elements / std::max<std::int64_t>(1, run);
    return std::max(elements * operand.element_bytes / bytes_per_tick, rows * ticks_per_row);
  }

  // What one load of the block takes: the labels in the ranges that it has.
  [[nodiscard]] Ranges loaded_box(const Blocking& b, const Labels& own, std::int64_t width) const {
    Ranges box = cut(space_.all(), own, width).front();
    const auto single = [&box](const Labels& labels) {
      for (const int label : labels) {
        box[static_cast<std::size_t>(label)].extent = 1;
      }
    };
    single(space_.batch);
    if (!b.k_free_whole) {
      single(space_.k_free);
    }
    return box;
  }

  // Tiles that the array transposes on the way, every time they are loaded.
  [[nodiscard]] std::int64_t turned_tiles(const Blocking& b) const {
    const std::int64_t rows = task_.machine.partitions;
    const std::int64_t stationary =
        b.stationary.turned ? stationary_loads(b) * parts(m_, rows) * steps_ : 0;
    return stationary + (b.moving.turned ? moving_loads(b) * parts(n_, rows) * steps_ : 0);
  }

  [[nodiscard]] std::int64_t estimate(Blocking& b) const {
    const std::int64_t m_tiles = parts(m_, task_.machine.array_columns);
    const std::int64_t n_tiles = parts(n_, task_.machine.moving_max);
    const std::int64_t pass = task_.f32 ? 4 : 1;
    const std::int64_t columns =
        std::max(n_, columns_min * n_tiles) * pass + parts(n_tiles, b.n_tiles) * columns_of_switch;
    const std::int64_t turns = turned_tiles(b);
    const std::int64_t turned_columns = task_.machine.partitions * (task_.f32 ? 2 : 1);
    const std::int64_t tensor =
        (batches_ * m_tiles * steps_ * columns + turns * (turned_columns + columns_of_switch)) *
        ticks_per_column;
    const std::int64_t evictions = batches_ * m_tiles * parts(steps_, b.k_steps);
    const std::int64_t vector =
        evictions * (std::max(n_, columns_min * n_tiles) * ticks_per_element +
                     n_tiles * eviction_overhead) +
        turns * (task_.machine.partitions * ticks_per_element + eviction_overhead / 4);
    const Ranges stationary_box = loaded_box(b, space_.m, b.m);
    const Ranges moving_box = loaded_box(b, space_.n, b.n);
    const std::int64_t stationary =
        transfer(space_.stationary, b.stationary, stationary_box, m_, stationary_loads(b));
    const std::int64_t moving = transfer(space_.moving, b.moving, moving_box, n_, moving_loads(b));
    const std::int64_t out =
        task_.out_staged ? batches_ * m_ * n_ * task_.out_bytes / bytes_per_tick : 0;
    const std::int64_t steps = std::max<std::int64_t>(1, steps_ * batches_);
    const std::int64_t first_load =
        (stationary / std::max<std::int64_t>(1, stationary_loads(b) * parts(m_, b.m)) +
         moving / std::max<std::int64_t>(1, moving_loads(b) * parts(n_, b.n))) *
        b.k_steps / steps;
    const std::int64_t first_group = b.k_steps * b.first_m_tiles * b.n_tiles *
                                     std::min<std::int64_t>(n_, task_.machine.moving_max) * pass *
                                     ticks_per_column;
    const std::int64_t dma = stationary + moving + out;
    b.bound_by_loads = dma > tensor;
    const std::int64_t wait =
        task_.prefetched ? 0 : std::max<std::int64_t>(0, first_load - first_group);
    const std::int64_t fed = tensor + wait;
    // All of a moving operand that stays is wanted by the first block of rows. Some of it has been loaded ahead.
    const std::int64_t ahead =
        task_.prefetched ? task_.machine.sbuf_bytes / 8 * task_.machine.partitions / bytes_per_tick
                         : 0;
    const std::int64_t burst = std::max<std::int64_t>(0, moving - ahead - tensor / parts(m_, b.m));
    const std::int64_t longest = std::max({fed, vector, dma});
    return longest + (fed + vector + dma - longest + burst) / friction_share;
  }

  const BlockingTask& task_;
  const Space& space_;
  std::int64_t m_, n_, k_free_, batches_, steps_;
  Blocking best_;
  bool best_fits_ = false;
  std::int64_t best_time_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t best_memory_ = std::numeric_limits<std::int64_t>::max();
};

std::int64_t whole_bytes(const BlockingTask& task, const Placed& placed, const Streamed& operand) {
  return rounded(operand.element_bytes * task.space.extent(placed.free_labels)) *
         parts(placed.partitions, task.machine.partitions);
}

// An operand whose rows would be torn apart batch by batch, and that fits, is loaded in one piece.
bool worth_whole(const BlockingTask& task, const Placed& placed, const Streamed& operand) {
  if (!operand.loaded || task.space.batch.empty()) {
    return false;
  }
  const auto inner = std::find_if(
      placed.free_labels.rbegin(), placed.free_labels.rend(),
      [&task](int label) { return task.space.extents[static_cast<std::size_t>(label)] != 1; });
  const bool torn =
      inner != placed.free_labels.rend() &&
      std::find(task.space.batch.begin(), task.space.batch.end(), *inner) != task.space.batch.end();
  return torn && whole_bytes(task, placed, operand) <= task.budget / 3;
}

}  // namespace

Blocking choose_blocking(const BlockingTask& task) {
  BlockingTask rest = task;  // an operand loaded whole is out of the search, its room set aside
  const auto set_aside = [&task, &rest](const Placed& placed, Streamed& operand) {
    if (worth_whole(task, placed, operand)) {
      rest.budget -= whole_bytes(task, placed, operand);
      operand.loaded = false;
      operand.whole = true;
    }
  };
  set_aside(task.space.stationary, rest.stationary);
  set_aside(task.space.moving, rest.moving);
  return Search(rest).run();
}

}  // namespace systole::lower
