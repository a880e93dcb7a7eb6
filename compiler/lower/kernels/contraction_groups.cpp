#include "compiler/lower/kernels/contraction_groups.hpp"

#include <algorithm>

namespace systole::lower {
namespace {

// The longest box of `labels` that starts `begin` elements into `run` (a box whose elements are
// consecutive) and has at most `most` elements.
Ranges box_at(const Ranges& run, const Labels& labels, std::int64_t begin, std::int64_t most) {
  Ranges box = run;
  std::int64_t inner = 1;
  bool whole = true;  // all labels so far are taken in full
  for (std::size_t i = labels.size(); i-- > 0;) {
    Span& span = box[static_cast<std::size_t>(labels[i])];
    const Span full = run[static_cast<std::size_t>(labels[i])];
    const std::int64_t index = begin / inner % full.extent;
    const bool can_grow = whole && begin % inner == 0 && inner <= most;
    const std::int64_t count = can_grow ? std::min(most / inner, full.extent - index) : 1;
    whole = can_grow && index == 0 && count == full.extent;
    span = {full.begin + index, count};
    inner *= full.extent;
  }
  return box;
}

}  // namespace

Span rows_of(const Space& space, const Ranges& batch) {
  return {first_partition(space.stationary, batch), space.extent(space.k_rows)};
}

std::vector<Step> Grouping::steps_of(const Ranges& batch) const {
  std::vector<Step> steps;
  const std::vector<Ranges> boxes = cut(batch, space_.k_free, 1);
  for (const Span& rows : legal_parts(machine_, rows_of(space_, batch))) {
    for (const Ranges& box : boxes) {
      steps.push_back({rows, box});
    }
  }
  return steps;
}

std::vector<RowTile> Grouping::row_tiles(const Ranges& block) const {
  Labels others;
  for (const int label : space_.m) {
    if (std::find(space_.m_rows.begin(), space_.m_rows.end(), label) == space_.m_rows.end()) {
      others.push_back(label);
    }
  }
  // Row labels outside the last one that is taken in part (from the innermost on) go one by one:
  // what is left is consecutive in the result's partitions.
  std::size_t outer = space_.m_rows.size();
  while (outer > 0) {
    const auto label = static_cast<std::size_t>(space_.m_rows[--outer]);
    if (block[label].extent != space_.extents[label]) {
      break;
    }
  }
  others.insert(others.end(), space_.m_rows.begin(),
                space_.m_rows.begin() + static_cast<std::ptrdiff_t>(outer));
  std::vector<RowTile> tiles;
  for (const Ranges& run : cut(block, others, 1)) {
    cut_run(run, tiles);
  }
  return tiles;
}

void Grouping::cut_run(const Ranges& run, std::vector<RowTile>& tiles) const {
  const Span range{first_partition(space_.out, run), volume(run, space_.m_rows)};
  std::vector<Span> parts{range};
  if (out_resident_) {
    parts = legal_parts(machine_, range);
  }
  for (const Span& part : parts) {
    std::int64_t done = 0;
    while (done < part.extent) {
      const std::int64_t most = std::min<std::int64_t>(machine_.array_columns, part.extent - done);
      const Ranges box = box_at(run, space_.m_rows, part.begin + done - range.begin, most);
      const std::int64_t count = volume(box, space_.m_rows);
      tiles.push_back({box, {part.begin + done, count}});
      done += count;
    }
  }
}

std::size_t Grouping::next_size() {
  const std::int64_t size = started_ ? blocking_.m_tiles : blocking_.first_m_tiles;
  started_ = true;
  return static_cast<std::size_t>(size);
}

std::vector<Group> Grouping::groups_of(const Ranges& block) {
  std::vector<Group> groups;
  const std::vector<RowTile> tiles = row_tiles(block);
  const std::vector<Step> steps = steps_of(block);
  const std::vector<Ranges> spans =
      cut_for_tiles(block, space_.n, machine_.moving_max, blocking_.n_tiles);
  const auto size = static_cast<std::size_t>(blocking_.k_steps);
  const std::size_t parts = (steps.size() + size - 1) / size;
  const std::size_t rounds = parts * static_cast<std::size_t>(passes_);
  const auto at = [](const auto& all, std::size_t i) {
    return all.begin() + static_cast<std::ptrdiff_t>(i);
  };
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t first = round % parts * size;
    Group group;
    group.block = block;
    group.turn = {round == 0, round + 1 == rounds, static_cast<int>(round / parts)};
    group.k_blocks = rounds > 1;
    group.spans = spans.size();
    group.block_tiles = tiles.size();
    group.steps.assign(at(steps, first), at(steps, std::min(first + size, steps.size())));
    std::size_t last = 0;
    for (std::size_t tile = 0; tile < tiles.size(); tile = last) {
      last = std::min(tile + next_size(), tiles.size());
      group.tiles.assign(at(tiles, tile), at(tiles, last));
      group.first_tile = tile;
      for (group.span_index = 0; group.span_index < spans.size(); ++group.span_index) {
        group.span = spans[group.span_index];
        groups.push_back(group);
        group.begins_round = false;
      }
    }
  }
  return groups;
}

}  // namespace systole::lower
