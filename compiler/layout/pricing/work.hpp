// Inside the cost model only: what the formulas of one operator add up, and how they see an operand.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compiler/layout/configurations/rules.hpp"
#include "compiler/layout/cost_model.hpp"

namespace systole::layout {

// A laid-out operand as sizes.
struct View {
  std::int64_t partitions = 1;  // extent of the linear partition index
  std::int64_t free = 1;        // elements of it per index
  std::int64_t blocks = 1;      // indices per partition
  std::int64_t bytes = 4;       // of an element
  bool hbm = false;
  bool ready = false;          // from the start: its transfers can be made ahead
  bool passing = false;        // the operator can run in its producer's kernel
  bool folds = false;          // as in Standing
  std::int64_t sums_from = 0;  // as in Standing

  [[nodiscard]] std::int64_t elements() const { return partitions * free; }
  [[nodiscard]] std::int64_t per_partition() const { return blocks * free; }  // elements
};

// Elements so far apart, or farther, pass at half the rate.
inline constexpr std::int64_t wide_stride_bytes = 16;

struct PricingContext {
  const CostModel& model;
  const isa::Machine& machine;
};
[[nodiscard]] View view_of(const Layout& layout, const graph::Shape& shape, isa::DType dtype,
                           Boundary boundary, const PricingContext& context);

[[nodiscard]] inline std::int64_t parts(std::int64_t total, std::int64_t size) {
  return (total + size - 1) / size;
}

class Work {
 public:
  // siblings: operators that share its waits for transfers (standing.hpp).
  explicit Work(const PricingContext& context, int siblings = 1)
      : context_(context), siblings_(siblings) {}

  void add(Feature feature, double count) {
    features_[static_cast<std::size_t>(feature)] +=
        feature == Feature::transfer ? count / siblings_ : count;
  }

  // `count` multiplies of `columns` columns each by `stationary` loaded ones.
  void multiply(bool fp32, double count, std::int64_t columns);
  // Each load runs under the multiplies before it, `moving` columns: only what they do not hide counts.
  void stationary(double count, std::int64_t columns, std::int64_t moving);
  // `passes` over `elements` per partition by instructions of at most `chunk` elements.
  void elementwise(Feature engine, double passes, std::int64_t elements,
                   std::int64_t chunk = chunk_elements);
  // DMA of `bytes` in rows of `row_bytes` to or from `partitions` of SBUF: each DMA engine serves some neighbouring ones.
  void rows(double bytes, double row_bytes, std::int64_t partitions);
  // A whole operand between HBM and SBUF, `times` over, if it lives in HBM. HBM holds it partition after partition, so
  // that neighbouring rows share descriptors.
  void stream(const View& view, double times = 1);
  // Store of a result; waiting for it and for loads of what an operator computed shows.
  void result(const View& view);
  void operand(const View& view, double times = 1);

  [[nodiscard]] const Features& features() const { return features_; }
  [[nodiscard]] const isa::Machine& machine() const { return context_.machine; }
  [[nodiscard]] const CostModel& model() const { return context_.model; }

  static constexpr std::int64_t chunk_elements = 2048;  // of one instruction, as lowering cuts them

 private:
  [[nodiscard]] double engines(
      std::int64_t partitions) const;  // DMA engines that serve so many partitions

  PricingContext context_;
  int siblings_;
  Features features_{};
};

// ---- formulas per operator; views per position
struct NodeViews {
  const Site& site;
  const Configuration& configuration;
  const std::vector<View>& views;
  const std::vector<isa::DType>& dtypes;
};
void price_contraction(Work& work, const graph::Contraction& op, const NodeViews& node);
void price_convolution(Work& work, const graph::Convolution& op, const NodeViews& node);
void price_map(Work& work, const graph::Map& op, const NodeViews& node);
void price_reduce(Work& work, const graph::Reduce& op, const NodeViews& node);
void price_arg_reduce(Work& work, const NodeViews& node);
void price_window(Work& work, const graph::Window& op, const NodeViews& node);
void price_reshape(Work& work, const NodeViews& node);
void price_resize(Work& work, const NodeViews& node);  // Slice, Concat, Pad, Expand
void price_gather(Work& work, const NodeViews& node);
void price_gather_elements(Work& work, const NodeViews& node);
void price_scatter(Work& work, const NodeViews& node);

}  // namespace systole::layout
