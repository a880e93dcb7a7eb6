#include "compiler/solver/local_search.hpp"

#include <algorithm>
#include <limits>

namespace systole::solver {

LocalSearch::LocalSearch(const Flat& flat, const std::vector<char>* allowed)
    : flat_(flat),
      allowed_(allowed),
      row_(Flat::at(flat.operators), -1),
      produced_(Flat::at(flat.tensors), -1),
      request_begin_(Flat::at(flat.tensors)) {
  std::size_t total = 0;
  for (int tensor = 0; tensor < flat.tensors; ++tensor) {
    request_begin_[Flat::at(tensor)] = total;
    total += Flat::at(flat.layouts[Flat::at(tensor)]);
  }
  requests_.assign(total, 0);
}

void LocalSearch::clear(int op) {
  const int row = row_[Flat::at(op)];
  if (row < 0) {
    return;
  }
  const int* layouts = flat_.layouts_of(op, row);
  const int begin = flat_.slot_begin[Flat::at(op)];
  for (int i = 0; i < flat_.inputs(op); ++i) {
    --requests_[request(flat_.slot_tensor[Flat::at(begin + i)], layouts[i])];
  }
  produced_[Flat::at(flat_.output(op))] = -1;
  row_[Flat::at(op)] = -1;
}

void LocalSearch::choose(int op, int row) {
  const int* layouts = flat_.layouts_of(op, row);
  const int begin = flat_.slot_begin[Flat::at(op)];
  for (int i = 0; i < flat_.inputs(op); ++i) {
    ++requests_[request(flat_.slot_tensor[Flat::at(begin + i)], layouts[i])];
  }
  produced_[Flat::at(flat_.output(op))] = layouts[flat_.inputs(op)];
  row_[Flat::at(op)] = row;
}

Cost LocalSearch::output_price(int tensor, int layout) const {
  Cost total = 0;
  for (int to = 0; to < flat_.layouts[Flat::at(tensor)]; ++to) {
    if (to != layout && requests_[request(tensor, to)] > 0) {
      total = add(total, flat_.convert(tensor, layout, to));
    }
  }
  return total;
}

Cost LocalSearch::price(int op, int row) const {
  const int* layouts = flat_.layouts_of(op, row);
  const int inputs = flat_.inputs(op);
  const int* tensors = flat_.slot_tensor.data() + flat_.slot_begin[Flat::at(op)];
  Cost total = add(flat_.row_cost[Flat::at(row)], output_price(tensors[inputs], layouts[inputs]));
  for (int i = 0; i < inputs; ++i) {
    const int from = produced_[Flat::at(tensors[i])];
    if (from < 0 || from == layouts[i] || requests_[request(tensors[i], layouts[i])] > 0) {
      continue;
    }
    bool already = false;  // an earlier argument of this row asks for the same conversion
    for (int j = 0; j < i; ++j) {
      already = already || (tensors[j] == tensors[i] && layouts[j] == layouts[i]);
    }
    if (!already) {
      total = add(total, flat_.convert(tensors[i], from, layouts[i]));
    }
  }
  return total;
}

bool LocalSearch::improve(int op) {
  const int present = row_[Flat::at(op)];
  clear(op);
  int best_row = present;
  Cost best = present >= 0 ? price(op, present) : std::numeric_limits<Cost>::max();
  const Cost before = best;
  for (int row = flat_.row_begin[Flat::at(op)]; row < flat_.row_begin[Flat::at(op) + 1]; ++row) {
    if (allowed_ != nullptr && (*allowed_)[Flat::at(row)] == 0) {
      continue;
    }
    const Cost cost = row == present ? before : price(op, row);
    if (cost < best) {
      best = cost;
      best_row = row;
    }
  }
  choose(op, best_row);
  return best < before;
}

std::int64_t LocalSearch::improve_all(std::int64_t limit) {
  std::int64_t work = 0;
  // An operator is looked at again only when it or a neighbour changed.
  std::vector<bool> waiting(Flat::at(flat_.operators), true);
  const auto wake = [&](int op) {
    for (int slot = flat_.slot_begin[Flat::at(op)]; slot < flat_.slot_begin[Flat::at(op) + 1];
         ++slot) {
      const int tensor = flat_.slot_tensor[Flat::at(slot)];
      waiting[Flat::at(flat_.slot_op[Flat::at(flat_.producer_slot[Flat::at(tensor)])])] = true;
      for (const int use : flat_.uses_of(tensor)) {
        waiting[Flat::at(flat_.slot_op[Flat::at(use)])] = true;
      }
    }
  };
  const auto visit = [&](int op) {
    if (!waiting[Flat::at(op)] || work > limit) {
      return false;
    }
    waiting[Flat::at(op)] = false;
    work += flat_.rows(op);
    if (!improve(op)) {
      return false;
    }
    wake(op);
    return true;
  };
  for (bool changed = true; changed && work <= limit;) {
    changed = false;
    for (const int op : flat_.topological) {
      changed = visit(op) || changed;
    }
    for (auto op = flat_.topological.rbegin(); op != flat_.topological.rend(); ++op) {
      changed = visit(*op) || changed;
    }
  }
  return work;
}

Assignment LocalSearch::assignment() const {
  Assignment out;
  out.row.reserve(row_.size());
  for (const int row : row_) {
    out.row.add(row < 0 ? -1 : flat_.row_index[Flat::at(row)]);
  }
  return out;
}

void start_topologically(const Flat& flat, LocalSearch& search) {
  for (const int op : flat.topological) {
    search.improve(op);
  }
}

}  // namespace systole::solver
