#include "compiler/lower/hbm.hpp"

#include <algorithm>

#include "compiler/lower/schedule_overlap.hpp"

namespace systole::lower {
namespace {

struct Life {
  std::size_t first = 0, last = 0;
  bool used = false;
};

}  // namespace

std::int64_t hbm_peak(const TileProgram& tiles) {
  IdVector<isa::TensorId, Life> lives(tiles.tensors.size());
  for (std::size_t i = 0; i < tiles.instructions.size(); ++i) {
    for_each_touch(tiles.instructions[i], [&](const Touch& touch) {
      if (touch.tensor.valid()) {
        Life& life = lives[touch.tensor];
        life.first = life.used ? life.first : i;
        life.last = i;
        life.used = true;
      }
    });
  }
  std::int64_t always = 0;
  std::vector<std::int64_t> change(tiles.instructions.size() + 1, 0);
  for (const isa::TensorId id : tiles.tensors.ids()) {
    const isa::HbmTensor& tensor = tiles.tensors[id];
    const std::int64_t bytes = isa::storage_bytes(tensor);
    if (tensor.role != isa::Role::scratch) {
      always += bytes;
    } else if (lives[id].used) {
      change[lives[id].first] += bytes;
      change[lives[id].last + 1] -= bytes;
    }
  }
  std::int64_t now = always;
  std::int64_t peak = always;
  for (const std::int64_t bytes : change) {
    now += bytes;
    peak = std::max(peak, now);
  }
  return peak;
}

}  // namespace systole::lower
