#include "compiler/solver/exact/live.hpp"

#include <algorithm>

namespace systole::solver::exact {
namespace {

Cost worst_finite_total(const Flat& flat) {
  Cost total = 0;
  for (int op = 0; op < flat.operators; ++op) {
    Cost most = 0;
    for (int r = flat.row_begin[Flat::at(op)]; r < flat.row_begin[Flat::at(op) + 1]; ++r) {
      most = std::max(most, flat.row_cost[Flat::at(r)]);
    }
    total += most;
  }
  for (int tensor = 0; tensor < flat.tensors; ++tensor) {
    const int k = flat.layouts[Flat::at(tensor)];
    Cost most = 0;
    for (int from = 0; from < k; ++from) {
      Cost sum = 0;
      for (int to = 0; to < k; ++to) {
        const Cost cost = flat.convert(tensor, from, to);
        sum += cost < infinity ? cost : 0;
      }
      most = std::max(most, sum);
    }
    total += most;
  }
  return total;
}

}  // namespace

void Live::remove(int op, int i) {
  const int begin = flat->row_begin[Flat::at(op)];
  int& n = count[Flat::at(op)];
  const int r = row[Flat::at(begin + i)];
  row_alive[Flat::at(r)] = 0;
  const int* labels = labels_of(op, r);
  for (int s = 0; s < flat->slots(op); ++s) {
    --label_rows[Flat::at(labels[s])];
  }
  for (int j = i; j + 1 < n; ++j) {
    row[Flat::at(begin + j)] = row[Flat::at(begin + j + 1)];
  }
  --n;
}

Live all_alive(const Flat& flat) {
  Live live;
  live.flat = &flat;
  live.big = worst_finite_total(flat) + 1;
  live.conversion = flat.conversion;
  for (Cost& cost : live.conversion) {
    cost = std::min(cost, live.big);
  }
  int labels = 0;
  for (const int tensor : flat.slot_tensor) {
    live.label_begin.push_back(labels);
    labels += flat.layouts[Flat::at(tensor)];
  }
  live.label_begin.push_back(labels);
  live.label_rows.assign(Flat::at(labels), 0);
  live.row.resize(flat.row_cost.size());
  live.row_alive.assign(flat.row_cost.size(), 1);
  live.row_label.reserve(flat.row_layouts.size());
  for (int op = 0; op < flat.operators; ++op) {
    live.count.push_back(flat.rows(op));
    for (int r = flat.row_begin[Flat::at(op)]; r < flat.row_begin[Flat::at(op) + 1]; ++r) {
      live.row[Flat::at(r)] = r;
      const int* layouts = flat.layouts_of(op, r);
      for (int s = 0; s < flat.slots(op); ++s) {
        const int label =
            live.label_begin[Flat::at(flat.slot_begin[Flat::at(op)] + s)] + layouts[s];
        live.row_label.push_back(label);
        ++live.label_rows[Flat::at(label)];
      }
    }
  }
  return live;
}

}  // namespace systole::solver::exact
