// Treewidth: the dynamic program of Theorem 4 (paper, section 3.2.1 and Appendix B), literally.
//
// Tables are indexed by a row for every operator in the bag and, for the tensor each of them produces, the set of
// layouts requested by consumers already forgotten. Leaf, introduce, forget and join do exactly what the appendix says;
// nothing is pruned. Decomposition: the budget's order, or the best of min-fill and min-degree orders. What it gives up against `exact`: a cut
// is crossed by rows and request sets instead of layouts, which is what makes it run out of memory early.
//
// Memory: keys, costs and key index of live tables, plus one back pointer per entry ever made. A run stops with status exhausted
// when the budget is reached; the note and the counter `bytes_needed` say what the whole run could need at most, from
// the number of possible entries per node.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "compiler/solver/exact/clock.hpp"
#include "compiler/solver/flat.hpp"
#include "compiler/solver/strategies.hpp"
#include "compiler/solver/treewidth/bounds.hpp"
#include "compiler/solver/treewidth/nice.hpp"

namespace systole::solver {
namespace {

using treewidth::NiceKind;
using treewidth::NiceNode;

// Per bag member: row in the low half, request set of its output tensor in the high half.
using Word = std::uint64_t;

constexpr Word row_part(Word word) {
  return word & 0xffffffffU;
}
constexpr Word requests_part(Word word) {
  return word >> 32U;
}

// Key indices are at most half and at least a quarter full while a table grows.
constexpr std::size_t index_bytes_per_entry = 4 * sizeof(std::uint32_t);

struct Back {
  std::uint32_t left = 0;   // entry of the child
  std::uint32_t right = 0;  // entry of the second child, or the forgotten operator's row
};

constexpr std::uint32_t end_of_group = 0xffffffffU;

struct Table {
  std::size_t width = 0;   // words per key
  std::vector<Word> keys;  // entry after entry
  std::vector<Cost> costs;
};

// All back pointers, appended node after node, in large blocks that never move.
class BackStore {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  Back& operator[](std::size_t i) { return blocks_[i / block][i % block]; }
  const Back& operator[](std::size_t i) const { return blocks_[i / block][i % block]; }
  void push_back(Back back) {
    if (size_ % block == 0) {
      blocks_.push_back(std::make_unique<Back[]>(block));
    }
    (*this)[size_++] = back;
  }

 private:
  static constexpr std::size_t block = std::size_t{1} << 20;
  std::vector<std::unique_ptr<Back[]>> blocks_;
  std::size_t size_ = 0;
};

// Finds keys of a table that is being filled: open addressing over entry numbers.
class KeyIndex {
 public:
  // Entry number of the key, or the table's size when it is new (the caller then appends it).
  std::size_t find_or_add(const Table& table, const Word* key) {
    if (2 * (table.costs.size() + 1) > slots_.size()) {
      grow(table);
    }
    std::size_t slot = hash(key, table.width) & (slots_.size() - 1);
    while (slots_[slot] != 0) {
      const std::size_t entry = slots_[slot] - 1;
      if (std::equal(key, key + table.width, table.keys.data() + entry * table.width)) {
        return entry;
      }
      slot = (slot + 1) & (slots_.size() - 1);
    }
    slots_[slot] = static_cast<std::uint32_t>(table.costs.size() + 1);
    return table.costs.size();
  }
  [[nodiscard]] std::size_t bytes() const { return slots_.size() * sizeof(std::uint32_t); }

 private:
  static std::size_t hash(const Word* key, std::size_t width) {
    Word h = 0x9e3779b97f4a7c15U;
    for (std::size_t i = 0; i < width; ++i) {
      h = (h ^ key[i]) * 0xbf58476d1ce4e5b9U;
      h ^= h >> 29U;
    }
    return static_cast<std::size_t>(h);
  }
  void grow(const Table& table) {
    slots_.assign(std::max<std::size_t>(16, slots_.size() * 2), 0);
    for (std::size_t entry = 0; entry < table.costs.size(); ++entry) {
      std::size_t slot =
          hash(table.keys.data() + entry * table.width, table.width) & (slots_.size() - 1);
      while (slots_[slot] != 0) {
        slot = (slot + 1) & (slots_.size() - 1);
      }
      slots_[slot] = static_cast<std::uint32_t>(entry + 1);
    }
  }

  std::vector<std::uint32_t> slots_;  // entry + 1; 0 free
};

class Programme {
 public:
  Programme(const Flat& flat, std::vector<NiceNode> nodes, const Budget& budget)
      : flat_(flat),
        nodes_(std::move(nodes)),
        budget_(budget.memory_bytes),
        clock_(budget.seconds),
        tables_(nodes_.size()),
        first_back_(nodes_.size()) {}

  bool run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const NiceNode& node = nodes_[i];
      tables_[i].width = node.bag.size();
      first_back_[i] = backs_.size();
      switch (node.kind) {
        case NiceKind::leaf:
          tables_[i].costs.push_back(0);
          backs_.push_back({});
          break;
        case NiceKind::introduce:
          introduce(i);
          break;
        case NiceKind::forget:
          forget(i);
          break;
        case NiceKind::join:
          join(i);
          break;
      }
      if (stopped_) {
        return false;
      }
      entries_ += static_cast<std::int64_t>(tables_[i].costs.size());
      tables_[i].keys.shrink_to_fit();
      tables_[i].costs.shrink_to_fit();
      release(node.left);
      release(node.right);
    }
    return true;
  }

  [[nodiscard]] Cost optimum() const { return tables_.back().costs.front(); }
  [[nodiscard]] bool late() const { return late_; }
  [[nodiscard]] std::int64_t entries() const { return entries_; }
  [[nodiscard]] std::int64_t peak() const { return peak_; }

  [[nodiscard]] Assignment assignment() const {
    Assignment out;
    out.row.resize(Flat::at(flat_.operators), 0);
    std::vector<std::pair<std::size_t, std::uint32_t>> stack{{nodes_.size() - 1, 0}};
    while (!stack.empty()) {
      const auto [index, entry] = stack.back();
      stack.pop_back();
      const NiceNode& node = nodes_[index];
      const Back& back = backs_[first_back_[index] + entry];
      if (node.kind == NiceKind::forget) {
        out.row[OperatorId(Flat::at(node.vertex))] = flat_.row_index[back.right];
      }
      if (node.left >= 0) {
        stack.emplace_back(Flat::at(node.left), back.left);
      }
      if (node.right >= 0) {
        stack.emplace_back(Flat::at(node.right), back.right);
      }
    }
    return out;
  }

 private:
  // Keeps the books; once over budget nothing more is appended.
  bool pay(std::int64_t bytes) {
    look_at_clock();
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    stopped_ = stopped_ || used_ > budget_;
    return !stopped_;
  }
  void look_at_clock() {
    if (++steps_ % 16384 == 0 && clock_.expired()) {
      late_ = true;
      stopped_ = true;
    }
  }
  static std::int64_t entry_bytes(const Table& table) {
    return static_cast<std::int64_t>(table.width * sizeof(Word) + sizeof(Cost) +
                                     index_bytes_per_entry);
  }
  void release(int child) {
    if (child >= 0) {
      Table& table = tables_[Flat::at(child)];
      used_ -= entry_bytes(table) * static_cast<std::int64_t>(table.costs.size());
      table.keys = std::vector<Word>();
      table.costs = std::vector<Cost>();
    }
  }
  bool append(std::size_t index, const Word* key, Cost cost, Back back) {
    Table& table = tables_[index];
    if (!pay(entry_bytes(table) + static_cast<std::int64_t>(sizeof(Back)))) {
      return false;
    }
    table.keys.insert(table.keys.end(), key, key + table.width);
    table.costs.push_back(cost);
    backs_.push_back(back);
    return true;
  }
  // Appends, or lowers the cost of an equal key.
  bool offer(std::size_t index, KeyIndex& keys, const Word* key, Cost cost, Back back) {
    Table& table = tables_[index];
    const std::size_t entry = keys.find_or_add(table, key);
    if (entry == table.costs.size()) {
      return append(index, key, cost, back);
    }
    if (cost < table.costs[entry]) {
      table.costs[entry] = cost;
      backs_[first_back_[index] + entry] = back;
    }
    look_at_clock();
    return !stopped_;
  }

  void introduce(std::size_t index) {
    const NiceNode& node = nodes_[index];
    const Table& child = tables_[Flat::at(node.left)];
    const auto place = static_cast<std::size_t>(
        std::lower_bound(node.bag.begin(), node.bag.end(), node.vertex) - node.bag.begin());
    std::vector<Word> key(node.bag.size());
    const std::size_t made = child.costs.size() * Flat::at(flat_.rows(node.vertex));
    if (static_cast<double>(made) * static_cast<double>(entry_bytes(tables_[index])) >
        static_cast<double>(budget_ - used_)) {
      stopped_ = true;
      return;
    }
    tables_[index].keys.reserve(made * node.bag.size());
    tables_[index].costs.reserve(made);
    for (std::size_t entry = 0; entry < child.costs.size(); ++entry) {
      const Word* from = child.keys.data() + entry * child.width;
      std::copy(from, from + place, key.begin());
      std::copy(from + place, from + child.width,
                key.begin() + static_cast<std::ptrdiff_t>(place) + 1);
      for (int row = flat_.row_begin[Flat::at(node.vertex)];
           row < flat_.row_begin[Flat::at(node.vertex) + 1]; ++row) {
        key[place] = static_cast<Word>(row);  // request set empty
        if (!append(index, key.data(), child.costs[entry],
                    {static_cast<std::uint32_t>(entry), 0})) {
          return;
        }
      }
    }
  }

  // Where the producers of an operator's inputs stand in the bag; -1 when forgotten.
  static int place_in(const std::vector<int>& bag, int vertex) {
    const auto found = std::lower_bound(bag.begin(), bag.end(), vertex);
    return found != bag.end() && *found == vertex ? static_cast<int>(found - bag.begin()) : -1;
  }

  void forget(std::size_t index) {
    const NiceNode& node = nodes_[index];
    const Table& child = tables_[Flat::at(node.left)];
    const std::vector<int>& child_bag = nodes_[Flat::at(node.left)].bag;
    const int v = node.vertex;
    const auto place = Flat::at(place_in(child_bag, v));
    struct Link {
      std::size_t place;  // of the other operator in the child's bag
      int argument;       // of the consumer
    };
    std::vector<Link> producers;  // of v's inputs, in the bag
    std::vector<Link> consumers;  // of v's output, in the bag
    const int begin = flat_.slot_begin[Flat::at(v)];
    for (int s = 0; s < flat_.inputs(v); ++s) {
      const int tensor = flat_.slot_tensor[Flat::at(begin + s)];
      const int at =
          place_in(child_bag, flat_.slot_op[Flat::at(flat_.producer_slot[Flat::at(tensor)])]);
      if (at >= 0) {
        producers.push_back({Flat::at(at), s});
      }
    }
    const int output = flat_.output(v);
    for (const int use : flat_.uses_of(output)) {
      const int op = flat_.slot_op[Flat::at(use)];
      const int at = place_in(child_bag, op);
      if (at >= 0) {
        consumers.push_back({Flat::at(at), use - flat_.slot_begin[Flat::at(op)]});
      }
    }
    KeyIndex keys;
    std::vector<Word> key(child.width);
    for (std::size_t entry = 0; entry < child.costs.size() && !stopped_; ++entry) {
      std::copy_n(child.keys.data() + entry * child.width, child.width, key.begin());
      const auto row = static_cast<int>(row_part(key[place]));
      const int* layouts = flat_.layouts_of(v, row);
      Word requested = requests_part(key[place]);
      for (const Link& link : consumers) {
        const auto other = static_cast<int>(row_part(key[link.place]));
        requested |= Word{1} << static_cast<unsigned>(
                         flat_.layouts_of(child_bag[link.place], other)[link.argument]);
      }
      Cost cost = add(child.costs[entry], flat_.row_cost[Flat::at(row)]);
      const int produced = layouts[flat_.inputs(v)];
      for (Word bits = requested; bits != 0; bits &= bits - 1) {
        cost = add(cost, flat_.convert(output, produced, std::countr_zero(bits)));
      }
      for (const Link& link : producers) {
        key[link.place] |= Word{1} << static_cast<unsigned>(32 + layouts[link.argument]);
      }
      key.erase(key.begin() + static_cast<std::ptrdiff_t>(place));
      offer(index, keys, key.data(), cost,
            {static_cast<std::uint32_t>(entry), static_cast<std::uint32_t>(row)});
      key.resize(child.width);
    }
  }

  void join(std::size_t index) {
    const NiceNode& node = nodes_[index];
    const Table& left = tables_[Flat::at(node.left)];
    const Table& right = tables_[Flat::at(node.right)];
    const std::size_t width = left.width;
    // Entries of the right child by their rows alone.
    Table rows;
    rows.width = width;
    KeyIndex row_index;
    std::vector<std::uint32_t> first;                                   // last entry of each group
    std::vector<std::uint32_t> next(right.costs.size(), end_of_group);  // the one before it
    std::vector<Word> key(width);
    const auto rows_of = [&](const Word* from) {
      std::transform(from, from + width, key.begin(), row_part);
    };
    for (std::size_t entry = 0; entry < right.costs.size(); ++entry) {
      rows_of(right.keys.data() + entry * width);
      const std::size_t at = row_index.find_or_add(rows, key.data());
      if (at == rows.costs.size()) {
        rows.keys.insert(rows.keys.end(), key.begin(), key.end());
        rows.costs.push_back(0);
        first.push_back(end_of_group);
      }
      next[entry] = first[at];
      first[at] = static_cast<std::uint32_t>(entry);
    }
    const auto helpers = static_cast<std::int64_t>(
        rows.keys.size() * sizeof(Word) + (first.size() + next.size()) * sizeof(std::uint32_t) +
        rows.costs.size() * sizeof(Cost) + row_index.bytes());
    if (!pay(helpers)) {
      return;
    }
    KeyIndex keys;
    for (std::size_t entry = 0; entry < left.costs.size(); ++entry) {
      const Word* mine = left.keys.data() + entry * width;
      rows_of(mine);
      const std::size_t at = row_index.find_or_add(rows, key.data());
      if (at == rows.costs.size()) {
        systole::check(false, "both sides of a join know the same rows");
      }
      for (std::uint32_t partner = first[at]; partner != end_of_group; partner = next[partner]) {
        const Word* other = right.keys.data() + partner * width;
        for (std::size_t i = 0; i < width; ++i) {
          key[i] = mine[i] | other[i];  // equal rows, united request sets
        }
        if (!offer(index, keys, key.data(), add(left.costs[entry], right.costs[partner]),
                   {static_cast<std::uint32_t>(entry), partner})) {
          return;
        }
      }
    }
    used_ -= helpers;
  }

  const Flat& flat_;
  std::vector<NiceNode> nodes_;
  std::int64_t budget_;
  exact::Clock clock_;
  std::vector<Table> tables_;
  std::vector<std::size_t> first_back_;  // per node: its first entry in backs_
  BackStore backs_;
  std::int64_t used_ = 0;
  std::int64_t peak_ = 0;
  std::int64_t entries_ = 0;
  std::int64_t steps_ = 0;
  bool stopped_ = false;  // over budget: memory, or
  bool late_ = false;     // time
};

// Most entries each node can have: rows of the bag times possible request sets. Sum of what must be held at once is
// bounded by all back pointers plus the two largest neighbouring tables; the sum over all nodes is used for simplicity.
struct Need {
  double least =
      0;  // bytes that are certainly needed: one table holds every combination of rows of its bag
  double most = 0;  // bytes that are never exceeded
};

Need need_of(const Flat& flat, const std::vector<NiceNode>& nodes) {
  Need need;
  double backs = 0;
  double largest = 0;
  std::vector<int> forgotten(Flat::at(flat.operators),
                             0);  // consumers forgotten so far, per producer
  for (const NiceNode& node : nodes) {
    if (node.kind == NiceKind::forget) {
      for (int s = 0; s < flat.inputs(node.vertex); ++s) {
        const int tensor = flat.slot_tensor[Flat::at(flat.slot_begin[Flat::at(node.vertex)] + s)];
        ++forgotten[Flat::at(flat.slot_op[Flat::at(flat.producer_slot[Flat::at(tensor)])])];
      }
    }
    double rows = 1;
    double sets = 1;
    for (const int v : node.bag) {
      rows *= flat.rows(v);
      const int k = flat.layouts[Flat::at(flat.output(v))];
      double subsets = 0;
      double choose = 1;
      for (int j = 0; j <= std::min(k, forgotten[Flat::at(v)]); ++j) {
        subsets += choose;
        choose = choose * (k - j) / (j + 1);
      }
      sets *= subsets;
    }
    const auto bytes =
        static_cast<double>(node.bag.size() * sizeof(Word) + sizeof(Cost) + index_bytes_per_entry);
    need.least = std::max(need.least, rows * bytes);
    largest = std::max(largest, rows * sets * bytes);
    backs += rows * sets * static_cast<double>(sizeof(Back));
  }
  need.most = backs + 3 * largest;
  return need;
}

Result refusal(const Problem& problem, double needed, std::int64_t budget, int width) {
  Result result;
  result.bound = row_bound(problem);
  result.note = fmt::format(
      "needs up to {:.3g} bytes for a decomposition of width {} (vertices are operators); the "
      "memory budget is {} bytes",
      needed, width, budget);
  result.stats.push_back({"width", width});
  result.stats.push_back(
      {"bytes_needed", needed < 9e18 ? static_cast<std::int64_t>(std::ceil(needed)) : INT64_MAX});
  return result;
}

}  // namespace

Result run_treewidth(const Problem& problem, const Budget& budget) {
  if (row_bound(problem) >= infinity) {
    return heuristic_result(problem, {});
  }
  const Flat flat = flatten(problem);
  for (const int k : flat.layouts) {
    if (k > 32) {
      Result result;
      result.bound = row_bound(problem);
      result.note = "request sets hold at most 32 layouts per tensor";
      return result;
    }
  }
  const treewidth::Graph graph = treewidth::graph_of(problem);
  treewidth::Width width;
  if (budget.elimination_order.empty()) {
    width = treewidth::width_bounds(graph, 0);
  } else {
    width.order = budget.elimination_order;
    width.upper = treewidth::width_of(graph, width.order, graph.vertices());
  }
  std::vector<NiceNode> nodes = treewidth::nice_decomposition(graph, width.order);
  const Need need = need_of(flat, nodes);
  if (need.least > static_cast<double>(budget.memory_bytes)) {
    return refusal(problem, need.most, budget.memory_bytes, width.upper);
  }
  Programme programme(flat, std::move(nodes), budget);
  if (!programme.run()) {
    if (programme.late()) {
      Result result;
      result.bound = row_bound(problem);
      result.note = "the clock ended the program";
      return result;
    }
    return refusal(problem, need.most, budget.memory_bytes, width.upper);
  }
  Result result;
  result.stats = {
      {"width", width.upper}, {"entries", programme.entries()}, {"bytes", programme.peak()}};
  result.proof = Proof::dynamic;
  if (programme.optimum() >= infinity) {
    result.status = Status::infeasible;
    result.bound = infinity;
    return result;
  }
  result.status = Status::proven;
  result.assignment = programme.assignment();
  result.cost = programme.optimum();
  result.bound = result.cost;
  return result;
}

}  // namespace systole::solver
