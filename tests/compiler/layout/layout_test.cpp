// The algebra, exhaustively: every layout of every small shape, judged element by element.
#include "compiler/layout/layout.hpp"
#include "compiler/layout/block_turn.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

using namespace systole;
using namespace systole::layout;
using graph::Shape;

namespace {

// All shapes of the rank with extents from 1 to 3.
std::vector<Shape> shapes_of(int rank) {
  std::vector<Shape> shapes{{}};
  for (int i = 0; i < rank; ++i) {
    std::vector<Shape> longer;
    for (const Shape& shape : shapes) {
      for (std::int64_t extent = 1; extent <= 3; ++extent) {
        longer.push_back(shape);
        longer.back().push_back(extent);
      }
    }
    shapes = longer;
  }
  return shapes;
}

std::vector<Layout> layouts_of(int rank, std::int64_t padding) {
  std::vector<Layout> layouts;
  std::vector<int> order = row_major(rank, 0).order;
  do {
    for (int split = 0; split <= rank; ++split) {
      for (std::int64_t pad = 0; pad <= padding; ++pad) {
        layouts.push_back({order, split, pad});
      }
    }
  } while (std::ranges::next_permutation(order).found);
  return layouts;
}

// Every index in row-major order.
std::vector<std::vector<std::int64_t>> indices_of(const Shape& shape) {
  std::vector<std::vector<std::int64_t>> indices{{}};
  for (const std::int64_t extent : shape) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& index : indices) {
      for (std::int64_t i = 0; i < extent; ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    }
    indices = longer;
  }
  return indices;
}

// Place of every element in row-major order, and the room a partition takes: what "the same bytes"
// means.
std::vector<std::int64_t> bytes_of(const Layout& layout, const Shape& shape) {
  std::vector<std::int64_t> places{free_extent(layout, shape)};
  for (const auto& index : indices_of(shape)) {
    const Place p = place(layout, shape, index);
    places.push_back(p.partition);
    places.push_back(p.free);
  }
  return places;
}

}  // namespace

TEST_CASE("place follows the definition on a hand-made example") {
  // [2,3,4] as (1|2 0) with one element of padding after axis 0: rows of 2+1 elements.
  const Layout layout{{1, 2, 0}, 1, 1};
  CHECK(place(layout, {2, 3, 4}, {1, 2, 3}) == Place{2, 3 * 3 + 1});
  CHECK(place(Layout{{0, 2, 1}, 2, 0}, {2, 3, 4}, {1, 2, 3}) == Place{1 * 4 + 3, 2});
  CHECK(partition_extent(layout, {2, 3, 4}) == 3);
  CHECK(free_extent(layout, {2, 3, 4}) == 4 * (2 + 1));
  CHECK(blocks(row_major(2, 1), {257, 5}, 128) == 3);
  CHECK(blocks(row_major(2, 0), {257, 5}, 128) == 1);
}

TEST_CASE("padding belongs to the innermost free axis that moves bytes") {
  CHECK(place(Layout{{0, 1, 2}, 1, 5}, {2, 3, 1}, {1, 2, 0}) == Place{1, 2});
  CHECK(free_extent(Layout{{0, 1, 2}, 1, 5}, {2, 3, 1}) == 8);
  CHECK(free_extent(Layout{{0, 1, 2}, 3, 5}, {2, 3, 1}) == 6);
}

TEST_CASE("two layouts have equal canonical forms exactly if every element has one place") {
  for (int rank = 0; rank <= 3; ++rank) {
    for (const Shape& shape : shapes_of(rank)) {
      const std::vector<Layout> layouts = layouts_of(rank, 1);
      std::vector<std::vector<std::int64_t>> bytes;
      for (const Layout& layout : layouts) {
        bytes.push_back(bytes_of(layout, shape));
      }
      bool agree = true;
      for (std::size_t a = 0; a < layouts.size(); ++a) {
        for (std::size_t b = 0; b < layouts.size(); ++b) {
          agree = agree && same_bytes(layouts[a], layouts[b], shape) == (bytes[a] == bytes[b]);
        }
      }
      CHECK_MESSAGE(agree, graph::to_string(shape));
    }
  }
}

TEST_CASE("the same holds for every rank-4 shape without padding") {
  const std::vector<Layout> layouts = layouts_of(4, 0);
  for (const Shape& shape : shapes_of(4)) {
    std::vector<std::pair<std::vector<std::int64_t>, Layout>> found;
    bool agree = true;
    for (const Layout& layout : layouts) {
      found.emplace_back(bytes_of(layout, shape), canonical(layout, shape));
    }
    std::ranges::sort(found);
    std::vector<Layout> forms;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool same_places = i > 0 && found[i].first == found[i - 1].first;
      agree = agree && (!same_places || found[i].second == found[i - 1].second);
      if (!same_places) {
        forms.push_back(found[i].second);
      }
    }
    std::ranges::sort(forms);
    agree = agree && std::ranges::adjacent_find(forms) == forms.end();
    CHECK_MESSAGE(agree, graph::to_string(shape));
  }
}

TEST_CASE("the canonical form is its own canonical form and moves nothing") {
  for (int rank = 0; rank <= 4; ++rank) {
    for (const Shape& shape : shapes_of(rank)) {
      for (const Layout& layout : layouts_of(rank, rank < 4 ? 1 : 0)) {
        const Layout c = canonical(layout, shape);
        REQUIRE(fits(c, shape));
        REQUIRE(canonical(c, shape) == c);
        REQUIRE(bytes_of(c, shape) == bytes_of(layout, shape));
      }
    }
  }
}

TEST_CASE("in HBM two layouts are the same bytes exactly if storage order and padding are") {
  // Storage offset partition * row + free, the row being what a partition takes.
  for (int rank = 0; rank <= 3; ++rank) {
    for (const Shape& shape : shapes_of(rank)) {
      const std::vector<Layout> layouts = layouts_of(rank, 0);
      std::vector<std::vector<std::int64_t>> offsets;
      for (const Layout& layout : layouts) {
        offsets.emplace_back();
        for (const auto& index : indices_of(shape)) {
          const Place p = place(layout, shape, index);
          offsets.back().push_back(p.partition * free_extent(layout, shape) + p.free);
        }
      }
      bool agree = true;
      for (std::size_t a = 0; a < layouts.size(); ++a) {
        agree = agree && identity_order(layouts[a], shape) ==
                             same_bytes_in_hbm(layouts[a], row_major(rank, 0), shape);
        for (std::size_t b = 0; b < layouts.size(); ++b) {
          agree = agree &&
                  same_bytes_in_hbm(layouts[a], layouts[b], shape) == (offsets[a] == offsets[b]);
        }
      }
      CHECK_MESSAGE(agree, graph::to_string(shape));
    }
  }
}

TEST_CASE("a layout goes through a transpose without moving a byte, for every permutation") {
  for (int rank = 0; rank <= 4; ++rank) {
    const std::vector<Layout> layouts = layouts_of(rank, 0);
    Shape shape;
    for (int i = 0; i < rank; ++i) {
      shape.push_back(
          i == 1 ? 2 : 2 + i % 2);  // equal extents among them: shapes do not give axes away
    }
    std::vector<int> perm = row_major(rank, 0).order;
    do {
      Shape out(shape.size());
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = shape[static_cast<std::size_t>(perm[i])];
      }
      for (const Layout& layout : layouts) {
        const Layout moved = through_transpose(layout, perm);
        REQUIRE(back_through_transpose(moved, perm) == layout);
        for (const auto& index : indices_of(shape)) {
          std::vector<std::int64_t> to(index.size());
          for (std::size_t i = 0; i < to.size(); ++i) {
            to[i] = index[static_cast<std::size_t>(perm[i])];
          }
          REQUIRE(place(layout, shape, index) == place(moved, out, to));
        }
      }
    } while (std::ranges::next_permutation(perm).found);
  }
}

TEST_CASE(
    "a layout goes through a reshape exactly if some layout of the result is the same bytes") {
  const std::vector<Shape> shapes{
      {},        {1},       {6},          {2, 3},       {3, 2},       {1, 6}, {6, 1},    {2, 1, 3},
      {3, 1, 2}, {1, 2, 3}, {12},         {3, 4},       {4, 3},       {2, 6}, {6, 2},    {2, 2, 3},
      {2, 3, 2}, {3, 2, 2}, {2, 6, 1},    {24},         {4, 6},       {6, 4}, {2, 2, 6}, {3, 2, 4},
      {2, 3, 4}, {4, 2, 3}, {2, 2, 2, 3}, {2, 3, 2, 2}, {1, 2, 1, 12}};
  int found = 0;
  int refused = 0;
  for (const Shape& from : shapes) {
    for (const Shape& to : shapes) {
      if (graph::elements(from) != graph::elements(to)) {
        continue;
      }
      const int rank = static_cast<int>(to.size());
      std::vector<std::pair<std::vector<std::int64_t>, Layout>> all;
      for (const Layout& layout : layouts_of(rank, 1)) {
        all.emplace_back(bytes_of(layout, to), canonical(layout, to));
      }
      for (const Layout& layout : layouts_of(static_cast<int>(from.size()), 1)) {
        const auto wanted = bytes_of(layout, from);
        const auto match =
            std::ranges::find(all, wanted, &std::pair<std::vector<std::int64_t>, Layout>::first);
        const std::optional<Layout> got = through_reshape(layout, from, to);
        REQUIRE_MESSAGE(got.has_value() == (match != all.end()),
                        graph::to_string(from)
                            << " to " << graph::to_string(to) << " " << to_string(layout));
        if (got) {
          REQUIRE(*got == match->second);
          REQUIRE(through_reshape(*got, to, from) == canonical(layout, from));
        }
        ++(got ? found : refused);
      }
    }
  }
  CHECK(found > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("splitting hidden into heads makes a group of partition axes and back") {
  // [16,768] with the hidden axis on the partitions; 768 = 12 heads of 64.
  const auto split = through_reshape(Layout{{1, 0}, 1, 0}, {16, 768}, {16, 12, 64});
  REQUIRE(split);
  CHECK(to_string(*split) == "(1 2|0)");
  CHECK(through_reshape(Layout{{1, 0, 2}, 1, 0}, {16, 12, 64}, {16, 768}) == std::nullopt);
}

TEST_CASE("DMA transposes where innermost axes change places") {
  int turned = 0;
  for (int rank = 1; rank <= 4; ++rank) {
    for (const Shape& shape : rank < 4 ? shapes_of(rank) : std::vector<Shape>{{3, 2, 1, 3}}) {
      for (const Layout& from : layouts_of(rank, 0)) {
        for (const Layout& to : layouts_of(rank, 0)) {
          // Where the next element along each axis lies.
          bool column = false;
          bool row = false;
          for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            std::vector<std::int64_t> index(shape.size(), 0);
            index[axis] = 1;
            if (shape[axis] > 1) {
              const Place before = place(from, shape, index);
              const Place after = place(to, shape, index);
              column = column || (before == Place{0, 1} && after == Place{1, 0});
              row = row || (before == Place{1, 0} && after == Place{0, 1});
            }
          }
          const auto found = transposition_of(from, to, shape);
          REQUIRE(found.has_value() == (column && row));
          if (found) {
            ++turned;
            REQUIRE(found->columns * found->rows * found->repeats == graph::elements(shape));
          }
        }
      }
    }
  }
  CHECK(turned > 100);
  // [tokens, heads, d] by rows of heads and d.
  CHECK(transposition_of({{0, 1, 2}, 1, 0}, {{1, 2, 0}, 2, 0}, {300, 4, 64}) ==
        isa::Transposition{256, 300, 1});
  CHECK(transposition_of({{1, 0, 2}, 2, 0}, {{2, 1, 0}, 1, 0}, {300, 4, 64}) ==
        isa::Transposition{64, 1200, 1});
  CHECK_FALSE(transposition_of({{0, 1}, 1, 2}, {{1, 0}, 1, 0}, {8, 8}));  // padded
}

TEST_CASE("Vector turns what falls into blocks that start quadrants on both sides") {
  const isa::Machine machine;  // quadrants of 32 partitions
  const auto blocks = [&](const Shape& shape, const char* from, const char* to) {
    const auto turn =
        block_turn_of(parse_layout(from).value(), parse_layout(to).value(), shape, machine);
    return turn ? turn->blocks() : 0;
  };
  CHECK(blocks({32, 32}, "(0|1)", "(1|0)") == 1);
  CHECK(blocks({40, 70}, "(0|1)", "(1|0)") == 2 * 3);
  CHECK(blocks({40, 3, 70}, "(0|1 2)", "(2|1 0)") == 2 * 3 * 3);
  CHECK(blocks({300}, "(0|)", "(|0)") == 10);
  CHECK(blocks({1, 7, 300}, "(|1 2 0)", "(2|1 0)") == 7 * 10);
  CHECK(blocks({4, 16, 8}, "(0 1|2)", "(2|1 0)") == 2);  // two of the outer index to a quadrant
  // [heads, tokens, d]: head by head.
  CHECK(blocks({2, 160, 64}, "(0 2|1)", "(0 1|2)") == 2 * 2 * 5);
  CHECK(blocks({2, 64, 160}, "(0 1|2)", "(0 2|1)") == 2 * 2 * 5);
  CHECK(blocks({2, 64, 160}, "(1 0|2)", "(1 2|0)") == 0);  // lanes of one index lie apart
  CHECK(blocks({2, 64, 160}, "(1 0|2)", "(2 0|1)") == 0);
  CHECK(blocks({3, 32, 64}, "(1 0|2)", "(2|0 1)") == 0);  // three to a quadrant of 32
  CHECK(blocks({4, 32, 64}, "(1 0|2)", "(2|0 1)") == 4 * 2);
  CHECK(blocks({2, 80, 64}, "(0 1|2)", "(0 2|1)") ==
        0);  // the second head starts within a quadrant
  CHECK(blocks({1, 80, 64}, "(1|2 0)", "(2|1 0)") == 3 * 2);
  CHECK(blocks({2, 64, 5}, "(0 1|2)", "(0|1 2)") == 0);
  CHECK(blocks({2, 64, 5}, "(0 1|2)", "(0 1|2)") == 0);
  CHECK(blocks({2, 64}, "(0 1|)", "(1 0|)") == 0);
  CHECK_FALSE(block_turn_of({{0, 1}, 1, 2}, {{1, 0}, 1, 0}, {8, 8}, machine));  // padded
}

TEST_CASE("an empty tensor has one layout as far as bytes go") {
  CHECK(same_bytes(Layout{{0, 1}, 1, 0}, Layout{{1, 0}, 2, 0}, {0, 3}));
  CHECK(through_reshape(row_major(2, 1), {0, 3}, {5, 0, 1}).has_value());
}

TEST_CASE("printed layouts read back, and nothing else does") {
  for (int rank = 0; rank <= 4; ++rank) {
    for (const Layout& layout : layouts_of(rank, 1)) {
      REQUIRE(parse_layout(to_string(layout)) == layout);
    }
  }
  CHECK(to_string(Layout{{1, 2, 0, 3}, 2, 4}) == "(1 2|0 3)+4");
  CHECK(to_string(Layout{}) == "(|)");
  for (const char* text : {"", "(", "()", "(0 1)", "(0|0)", "(0|2)", "(0||1)", "(0|1)+", "(0|1)+0",
                           "(0|1)-1", "(0|1) ", "0|1", "(a|0)"}) {
    CHECK_MESSAGE(parse_layout(text) == std::nullopt, text);
  }
}
