// What a configuration and a conversion cost, before tiling: closed formulas over shapes, layouts and element types give
// counts of work (features), named coefficients give reference-clock cycles per unit. A count times its coefficient is a
// term; terms carry the feature's name, so that predictions and measurements are compared term by term.
//
// The formulas describe what lowering does with an operator on its own: the tensor engine in passes of array_rows x
// array_columns with at most moving_max columns per instruction, evictions from PSUM, elementwise work per partition,
// DMA in rows. Where a tensor lives is not known yet; the rule is: graph inputs, constants and outputs that nothing else reads are in HBM
// (seen through transposes and reshapes), and so is what takes more than `resident_share` of a partition of SBUF. Operands in
// HBM are streamed, the rest is used in place.
//
// Coefficients come from configs/costs/NAME.yaml: *.analytic.yaml is derived from documentation, *.calibrated.yaml is
// fitted to measurements. Nothing here reads the simulator's timing.
//
// The total of a price: engines work at the same time, so it is the busiest engine's terms, plus `unhidden` of what the
// other engines do, plus the terms that nothing hides (hand-overs and transfer starts).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.hpp"
#include "compiler/layout/configurations.hpp"
#include "compiler/layout/price.hpp"
#include "compiler/layout/standing.hpp"
#include "isa/dtype.hpp"
#include "isa/machine.hpp"

namespace systole::layout {

struct CostModel {
  std::string machine;  // name of the machine that it is for
  std::string
      fitted_to;  // fingerprint of the machine's file, timing included; empty: not fitted to measurements

  // Reference-clock cycles per unit, named as the features.
  double column = 0;
  double column_fp32 = 0;
  double stationary_load = 0;
  double stationary_column = 0;
  double vector_element = 0;
  double fused_element = 0;
  double scalar_element = 0;
  double gpsimd_element = 0;
  double instruction = 0;
  double short_row = 0;
  double long_byte = 0;
  double transfer = 0;
  double handover = 0;
  double follower = 0;
  double table = 0;
  double transpose_hbm_byte = 0;  // these two 0: no such conversions
  double transpose_sbuf_byte = 0;
  double turned_block = 0;  // 0: no such conversions

  double column_min = 64;        // columns that an instruction takes at least
  double hiding_columns = 188;   // of the multiplies before a stationary load that hide it
  double long_row = 2048;        // bytes from which a row costs its bytes
  double resident_share = 0.25;  // of a partition of SBUF
  double unhidden = 0.25;        // share of the less busy engines' work that shows
  double beside_products = 0.5;  // share of vector work by blocks between products that shows

  bool operator==(const CostModel&) const = default;
};
[[nodiscard]] double coefficient(const CostModel& model, Feature feature);
void set_coefficient(CostModel& model, Feature feature, double value);

// NAME ("trn1.analytic") is looked up as costs/NAME.yaml beside the file of the machine in its first part; anything with a
// slash or ending in .yaml is a file. Throws Error naming file, line and key.
[[nodiscard]] CostModel read_cost_model(const std::string& name_or_file);
[[nodiscard]] std::string find_cost_file(const std::string& name_or_file);
// Name of the prices that the machine has unless others are chosen: its own analytic ones, or those that ship with its
// generation for a machine under a name of its own.
[[nodiscard]] std::string analytic_costs(const isa::Machine& machine);
// As a file that reads back to an equal model, every key with unit and meaning.
[[nodiscard]] std::string print_cost_model(const CostModel& model);

// Which share of each term the total shows: all of the busiest engine's and of what nothing hides, `unhidden` of the rest.
[[nodiscard]] Features shares(const Features& features, const CostModel& model);
[[nodiscard]] Price price_of(const Features& features, const CostModel& model);

// Prices the configurations of one node; made once per node, since rows are many.
class NodePricer {
 public:
  NodePricer(const graph::Graph& graph, const IdVector<graph::TensorId, isa::DType>& storage,
             const IdVector<graph::TensorId, Standing>& standing, graph::NodeId node,
             const CostModel& model, const isa::Machine& machine);
  ~NodePricer();
  NodePricer(const NodePricer&) = delete;
  NodePricer& operator=(const NodePricer&) = delete;

  [[nodiscard]] Features features(const Configuration& configuration) const;
  [[nodiscard]] Price price(const Configuration& configuration) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// For single questions.
[[nodiscard]] Price price(const graph::Graph& graph,
                          const IdVector<graph::TensorId, isa::DType>& storage, graph::NodeId node,
                          const Configuration& configuration, const CostModel& model,
                          const isa::Machine& machine);

struct Conversion {
  Mechanism mechanism = Mechanism::alias;  // alias: none needed
  Price price;
  bool operator==(const Conversion&) const = default;
};
// The cheapest mechanism that configurations.hpp allows for a tensor of this shape and type; mechanism alias and nothing to
// pay if the layouts are equal. Both layouts canonical. A source is read from HBM; the copy of an output that is
// row-major is written there.
[[nodiscard]] Conversion price_conversion(const graph::Shape& shape, isa::DType dtype,
                                          const Layout& from, const Layout& to, Boundary boundary,
                                          const CostModel& model, const isa::Machine& machine);
[[nodiscard]] Features conversion_features(Mechanism mechanism, const graph::Shape& shape,
                                           isa::DType dtype, const Layout& from, const Layout& to,
                                           Boundary boundary, const CostModel& model,
                                           const isa::Machine& machine);

}  // namespace systole::layout
