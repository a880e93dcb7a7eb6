// The two sides' loop nests are cut into a common refinement from the innermost loop outwards:
// equal extents pair up, and a larger extent that the smaller one divides is split in two. The
// innermost pair is then one call of a line routine (memcpy when both sides are dense). Groupings
// that do not nest (6 x 4 against 4 x 6) are walked element by element.
#include "sim/memory/transfer.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "isa/base/error.hpp"
#include "isa/convert.hpp"

namespace systole::sim {
namespace {

std::vector<TransferDim> side_dims(const isa::DmaAccess& access, std::int64_t pitch,
                                   bool is_source) {
  std::vector<TransferDim> dims;
  for (int i = 0; i < access.rank; ++i) {
    const isa::DmaDim& dim = access.dims[static_cast<std::size_t>(i)];
    if (dim.extent == 1) {
      continue;
    }
    const std::int64_t stride = dim.stride * (dim.across ? pitch : isa::size_of(access.dtype));
    dims.push_back({dim.extent, is_source ? stride : 0, is_source ? 0 : stride});
  }
  return dims;
}

// Outer loop continues exactly where the inner one ends, on both sides.
void merge_dims(std::vector<TransferDim>& dims) {
  std::vector<TransferDim> merged;
  for (const TransferDim& dim : dims) {
    if (!merged.empty()) {
      TransferDim& outer = merged.back();
      if (outer.source_stride == dim.source_stride * dim.extent &&
          outer.destination_stride == dim.destination_stride * dim.extent) {
        outer = {outer.extent * dim.extent, dim.source_stride, dim.destination_stride};
        continue;
      }
    }
    merged.push_back(dim);
  }
  dims = std::move(merged);
}

// The innermost `part` iterations of the last loop of `dims` are taken off it.
std::int64_t take_innermost(std::vector<TransferDim>& dims, std::int64_t part, bool is_source) {
  TransferDim& last = dims.back();
  std::int64_t& stride = is_source ? last.source_stride : last.destination_stride;
  const std::int64_t taken = stride;
  if (last.extent == part) {
    dims.pop_back();
  } else {
    last.extent /= part;
    stride *= part;
  }
  return taken;
}

template <class T>
void copy_strided(const std::byte* source, std::byte* destination, const TransferDim& dim) {
  for (std::int64_t i = 0; i < dim.extent; ++i) {
    std::memcpy(destination, source, sizeof(T));
    source += dim.source_stride;
    destination += dim.destination_stride;
  }
}

class Lines {
 public:
  explicit Lines(const TransferKind& kind)
      : kind_(kind),
        from_size_(isa::size_of(kind.source)),
        to_size_(isa::size_of(kind.destination)) {}

  void move(const std::byte* source, std::byte* destination, const TransferDim& dim) {
    if (kind_.source == kind_.destination && !kind_.accumulate) {
      move_bytes(source, destination, dim);
    } else {
      move_values(source, destination, dim);
    }
  }

 private:
  void move_bytes(const std::byte* source, std::byte* destination, const TransferDim& dim) const {
    if (dim.source_stride == from_size_ && dim.destination_stride == to_size_) {
      std::memmove(destination, source, static_cast<std::size_t>(dim.extent * to_size_));
    } else if (to_size_ == 4) {
      copy_strided<std::uint32_t>(source, destination, dim);
    } else if (to_size_ == 2) {
      copy_strided<std::uint16_t>(source, destination, dim);
    } else {
      copy_strided<std::uint8_t>(source, destination, dim);
    }
  }
  void move_values(const std::byte* source, std::byte* destination, const TransferDim& dim) const {
    std::array<std::byte, 4> converted{};
    for (std::int64_t i = 0; i < dim.extent; ++i) {
      if (kind_.accumulate) {
        const float sum =
            isa::load_float(kind_.destination, destination) + isa::load_float(kind_.source, source);
        isa::store_float(kind_.destination, sum, destination);
      } else {
        isa::convert(kind_.source, {source, static_cast<std::size_t>(from_size_)},
                     kind_.destination, {converted.data(), static_cast<std::size_t>(to_size_)});
        std::memcpy(destination, converted.data(), static_cast<std::size_t>(to_size_));
      }
      source += dim.source_stride;
      destination += dim.destination_stride;
    }
  }

  TransferKind kind_;
  std::int64_t from_size_;
  std::int64_t to_size_;
};

// Offset of each element of one side, in order, without a common nest.
class Odometer {
 public:
  Odometer(const std::vector<TransferDim>& dims, bool is_source)
      : dims_(dims), is_source_(is_source) {
    index_.resize(dims.size(), 0);
  }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  bool advance() {
    for (std::size_t d = dims_.size(); d-- > 0;) {
      const std::int64_t stride = is_source_ ? dims_[d].source_stride : dims_[d].destination_stride;
      offset_ += stride;
      if (++index_[d] < dims_[d].extent) {
        return true;
      }
      offset_ -= stride * dims_[d].extent;
      index_[d] = 0;
    }
    return false;
  }

 private:
  const std::vector<TransferDim>& dims_;
  bool is_source_;
  std::vector<std::int64_t> index_;
  std::int64_t offset_ = 0;
};

}  // namespace

TransferPlan plan_transfer(const isa::DmaAccess& source, std::int64_t source_pitch,
                           const isa::DmaAccess& destination, std::int64_t destination_pitch) {
  TransferPlan plan;
  plan.source = side_dims(source, source_pitch, true);
  plan.destination = side_dims(destination, destination_pitch, false);
  std::vector<TransferDim> a = plan.source;
  std::vector<TransferDim> b = plan.destination;
  while (!a.empty() && !b.empty()) {
    const std::int64_t small = std::min(a.back().extent, b.back().extent);
    if (a.back().extent % small != 0 || b.back().extent % small != 0) {
      plan.nested = false;
      return plan;
    }
    const std::int64_t source_stride = take_innermost(a, small, true);
    const std::int64_t destination_stride = take_innermost(b, small, false);
    plan.dims.push_back({small, source_stride, destination_stride});
  }
  std::reverse(plan.dims.begin(), plan.dims.end());
  merge_dims(plan.dims);
  return plan;
}

void run_transfer(const TransferPlan& plan, const TransferKind& kind, const std::byte* source,
                  std::byte* destination) {
  Lines lines(kind);
  if (!plan.nested) {
    Odometer from(plan.source, true);
    Odometer to(plan.destination, false);
    do {
      lines.move(source + from.offset(), destination + to.offset(), {1, 0, 0});
    } while (from.advance() && to.advance());
    return;
  }
  if (plan.dims.empty()) {
    lines.move(source, destination, {1, 0, 0});
    return;
  }
  const std::vector<TransferDim> outer(plan.dims.begin(), plan.dims.end() - 1);
  Odometer from(outer, true);
  Odometer to(outer, false);
  for (bool more = true; more;) {
    lines.move(source + from.offset(), destination + to.offset(), plan.dims.back());
    more = from.advance();
    to.advance();
  }
}

}  // namespace systole::sim
