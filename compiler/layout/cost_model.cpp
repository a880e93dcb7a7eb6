#include "compiler/layout/cost_model.hpp"

#include <cmath>
#include <filesystem>

#include "compiler/layout/pricing/work.hpp"
#include "isa/base/yaml.hpp"

namespace systole::layout {

namespace {

using graph::TensorId;

constexpr auto fields() {
  using C = CostModel;
  using yaml::Field;
  constexpr double any = yaml::unbounded;
  constexpr auto required = yaml::required;
  const char* cycles = "cycles";
  return std::tuple{
      Field{"machine", &C::machine, "", -any, any, required, "name of the machine that it is for"},
      Field{"fitted_to", &C::fitted_to, "", -any, any, yaml::optional,
            "fingerprint of the machine's file that it was fitted to"},
      Field{"column", &C::column, cycles, 0, 1e9, required, "per moving column of the array"},
      Field{"column_fp32", &C::column_fp32, cycles, 0, 1e9, required, "per moving column in fp32"},
      Field{"stationary_load", &C::stationary_load, cycles, 0, 1e9, required,
            "per stationary operand"},
      Field{"stationary_column", &C::stationary_column, cycles, 0, 1e9, required,
            "per column of a stationary operand"},
      Field{"vector_element", &C::vector_element, cycles, 0, 1e9, required,
            "per element of a partition, vector engine"},
      Field{"fused_element", &C::fused_element, cycles, 0, 1e9, required,
            "per element of a partition, maps in their producer's kernel"},
      Field{"scalar_element", &C::scalar_element, cycles, 0, 1e9, required,
            "per element of a partition, scalar engine"},
      Field{"gpsimd_element", &C::gpsimd_element, cycles, 0, 1e9, required,
            "per element of a partition, GpSimd"},
      Field{"instruction", &C::instruction, cycles, 0, 1e9, required,
            "per instruction of these engines"},
      Field{"short_row", &C::short_row, cycles, 0, 1e9, required,
            "per DMA row below long_row, of one DMA engine"},
      Field{"long_byte", &C::long_byte, cycles, 0, 1e9, required,
            "per byte of longer rows, of one DMA engine"},
      Field{"transfer", &C::transfer, cycles, 0, 1e9, required, "per DMA start that is waited for"},
      Field{"handover", &C::handover, cycles, 0, 1e9, required,
            "per wait of one engine for another"},
      Field{"follower", &C::follower, cycles, 0, 1e9, required, "per map in its producer's kernel"},
      Field{"table", &C::table, cycles, 0, 1e9, required, "per function of the scalar engine"},
      Field{"transpose_hbm_byte", &C::transpose_hbm_byte, cycles, 0, 1e9, yaml::optional,
            "per byte of blocks transposed by DMA from HBM, of one DMA engine; 0 = never"},
      Field{"transpose_sbuf_byte", &C::transpose_sbuf_byte, cycles, 0, 1e9, yaml::optional,
            "the same from SBUF"},
      Field{"turned_block", &C::turned_block, cycles, 0, 1e9, yaml::optional,
            "per block turned by the vector engine; 0 = never"},
      Field{"column_min", &C::column_min, "columns", 0, 1e6, required,
            "least columns of an instruction"},
      Field{"hiding_columns", &C::hiding_columns, "columns", 1, 1e6, yaml::optional,
            "of the multiplies before a stationary load that hide it"},
      Field{"long_row", &C::long_row, "bytes", 1, 1e9, required,
            "from which a DMA row costs its bytes"},
      Field{"resident_share", &C::resident_share, "", 0, 1, required,
            "of a partition of SBUF; larger tensors are streamed"},
      Field{"unhidden", &C::unhidden, "", 0, 1, required,
            "share of the less busy engines' work that shows"},
      Field{"beside_products", &C::beside_products, "", 0, 1, yaml::optional,
            "share of vector work by blocks of partitions between products that shows"},
  };
}

// Who does the work that a feature counts; `nobody`: a wait, which nothing hides.
enum class Worker : std::uint8_t { tensor, vector, scalar, gpsimd, dma, nobody };
constexpr std::size_t worker_count = 5;

struct FeatureEntry {
  std::string_view name;
  double CostModel::*coefficient;
  Worker worker;
};

constexpr std::array<FeatureEntry, feature_count> feature_entries{{
    {"column", &CostModel::column, Worker::tensor},
    {"column_fp32", &CostModel::column_fp32, Worker::tensor},
    {"stationary_load", &CostModel::stationary_load, Worker::tensor},
    {"stationary_column", &CostModel::stationary_column, Worker::tensor},
    {"vector_element", &CostModel::vector_element, Worker::vector},
    {"fused_element", &CostModel::fused_element, Worker::vector},
    {"scalar_element", &CostModel::scalar_element, Worker::scalar},
    {"gpsimd_element", &CostModel::gpsimd_element, Worker::gpsimd},
    {"instruction", &CostModel::instruction, Worker::vector},
    {"short_row", &CostModel::short_row, Worker::dma},
    {"long_byte", &CostModel::long_byte, Worker::dma},
    {"transfer", &CostModel::transfer, Worker::nobody},
    {"handover", &CostModel::handover, Worker::nobody},
    {"follower", &CostModel::follower, Worker::nobody},
    {"table", &CostModel::table, Worker::scalar},
    {"transpose_hbm_byte", &CostModel::transpose_hbm_byte, Worker::dma},
    {"transpose_sbuf_byte", &CostModel::transpose_sbuf_byte, Worker::dma},
    {"turned_block", &CostModel::turned_block, Worker::vector},
}};

const FeatureEntry& entry(Feature feature) {
  return feature_entries[static_cast<std::size_t>(feature)];
}

namespace fs = std::filesystem;

fs::path cost_file_beside(const std::string& machine_file, const std::string& name) {
  return fs::path(machine_file).parent_path() / "costs" / (name + ".yaml");
}

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".yaml");
}

}  // namespace

std::string_view name_of(Feature feature) {
  return entry(feature).name;
}

double coefficient(const CostModel& model, Feature feature) {
  return model.*entry(feature).coefficient;
}

void set_coefficient(CostModel& model, Feature feature, double value) {
  model.*entry(feature).coefficient = value;
}

std::string find_cost_file(const std::string& name_or_file) {
  if (is_path(name_or_file)) {
    return name_or_file;
  }
  const std::string machine = name_or_file.substr(0, name_or_file.find('.'));
  const fs::path file = cost_file_beside(isa::find_machine_file(machine), name_or_file);
  std::error_code error;
  if (!fs::is_regular_file(file, error)) {
    throw Error("costs", "\"" + name_or_file + "\" is unknown",
                "give a file, or a name such as " + machine + ".analytic");
  }
  return file.string();
}

std::string analytic_costs(const isa::Machine& machine) {
  const std::string shipped = machine.generation == isa::Generation::v3 ? "trn2" : "trn1";
  const std::string own = machine.name + ".analytic";
  std::error_code error;
  return fs::is_regular_file(cost_file_beside(isa::find_machine_file(shipped), own), error)
             ? own
             : shipped + ".analytic";
}

CostModel read_cost_model(const std::string& name_or_file) {
  return yaml::read<CostModel>(yaml::parse_file(find_cost_file(name_or_file)), fields());
}

std::string print_cost_model(const CostModel& model) {
  return yaml::print(model, fields());
}

Features shares(const Features& features, const CostModel& model) {
  std::array<double, worker_count> work{};
  for (std::size_t i = 0; i < feature_count; ++i) {
    const FeatureEntry& e = feature_entries[i];
    if (e.worker != Worker::nobody) {
      work[static_cast<std::size_t>(e.worker)] += features[i] * model.*e.coefficient;
    }
  }
  const auto busiest =
      static_cast<std::size_t>(std::max_element(work.begin(), work.end()) - work.begin());
  Features out{};
  for (std::size_t i = 0; i < feature_count; ++i) {
    const Worker worker = feature_entries[i].worker;
    out[i] = worker == Worker::nobody || static_cast<std::size_t>(worker) == busiest
                 ? 1
                 : model.unhidden;
  }
  return out;
}

Price price_of(const Features& features, const CostModel& model) {
  const Features shown = shares(features, model);
  Price price;
  double total = 0;
  for (std::size_t i = 0; i < feature_count; ++i) {
    const double cycles = features[i] * model.*feature_entries[i].coefficient;
    price.terms[i] = std::llround(cycles);
    total += cycles * shown[i];
  }
  price.total = std::llround(total);
  return price;
}

struct NodePricer::State {
  Site site;
  PricingContext context;
  std::vector<isa::DType> dtypes;
  std::vector<Standing> standing;
};

NodePricer::NodePricer(const graph::Graph& graph, const IdVector<TensorId, isa::DType>& storage,
                       const IdVector<TensorId, Standing>& standing, graph::NodeId node,
                       const CostModel& model, const isa::Machine& machine)
    : state_(std::make_unique<State>(
          State{site_of(graph, graph.nodes[node], machine), {model, machine}, {}, {}})) {
  for (std::size_t position = 0; position < state_->site.positions(); ++position) {
    const TensorId tensor = state_->site.tensor(position);
    state_->dtypes.push_back(storage[tensor]);
    state_->standing.push_back(standing[tensor]);
  }
}

NodePricer::~NodePricer() = default;

namespace {

void add_up(Work& work, const NodeViews& node) {
  struct Visitor {
    Work& work;
    const NodeViews& node;
    void operator()(const graph::Contraction& op) const { price_contraction(work, op, node); }
    void operator()(const graph::Convolution& op) const { price_convolution(work, op, node); }
    void operator()(const graph::Map& op) const { price_map(work, op, node); }
    void operator()(const graph::Reduce& op) const { price_reduce(work, op, node); }
    void operator()(const graph::ArgReduce&) const { price_arg_reduce(work, node); }
    void operator()(const graph::Window& op) const { price_window(work, op, node); }
    void operator()(const graph::Transpose&) const {}
    void operator()(const graph::Reshape&) const { price_reshape(work, node); }
    void operator()(const graph::Slice&) const { price_resize(work, node); }
    void operator()(const graph::Concat&) const { price_resize(work, node); }
    void operator()(const graph::Pad&) const { price_resize(work, node); }
    void operator()(const graph::Expand&) const { price_resize(work, node); }
    void operator()(const graph::Gather&) const { price_gather(work, node); }
    void operator()(const graph::GatherElements&) const { price_gather_elements(work, node); }
    void operator()(const graph::ScatterND&) const { price_scatter(work, node); }
    void operator()(const graph::Convert&) const {
      check(false, "conversions are priced by price_conversion");
    }
  };
  std::visit(Visitor{work, node}, node.site.node->op);
}

}  // namespace

namespace {

// Vector work between two products goes block by block of partitions, beside them, if no reduction among it runs over those.
// Its first block shows.
Features by_blocks(Features features, const Layout& layout, const graph::Shape& shape,
                   std::uint32_t reduced, const PricingContext& context) {
  const std::vector<int> across = partition_axes(layout, shape);
  const bool waits = std::ranges::any_of(
      across, [reduced](int axis) { return ((reduced >> static_cast<unsigned>(axis)) & 1U) != 0; });
  const std::int64_t extent = partition_extent(layout, shape);
  if (reduced == 0 || waits || extent <= context.machine.partitions) {
    return features;
  }
  const double first_block = 1.0 / static_cast<double>(parts(extent, context.machine.partitions));
  const double shown = first_block + (1 - first_block) * context.model.beside_products;
  for (const Feature feature :
       {Feature::vector_element, Feature::scalar_element, Feature::instruction}) {
    features[static_cast<std::size_t>(feature)] *= shown;
  }
  return features;
}

}  // namespace

Features NodePricer::features(const Configuration& configuration) const {
  const Site& site = state_->site;
  std::vector<View> views;
  views.reserve(site.positions());
  for (std::size_t position = 0; position < site.positions(); ++position) {
    const bool last = position + 1 == site.positions();
    views.push_back(view_of(last ? configuration.output : configuration.inputs[position],
                            *site.shapes[position], state_->dtypes[position],
                            state_->standing[position].boundary, state_->context));
    views.back().ready = state_->standing[position].boundary == Boundary::source;
    views.back().passing = state_->standing[position].boundary == Boundary::passing;
    views.back().folds = state_->standing[position].folds;
    views.back().sums_from = state_->standing[position].sums_from;
  }
  Work work(state_->context, state_->standing.back().siblings);
  add_up(work, {site, configuration, views, state_->dtypes});
  const bool reduces = std::holds_alternative<graph::Reduce>(site.node->op);
  const Layout& layout = reduces ? configuration.inputs.front() : configuration.output;
  const graph::Shape& shape = reduces ? *site.shapes.front() : *site.shapes.back();
  return by_blocks(work.features(), layout, shape, state_->standing.back().reduced,
                   state_->context);
}

Price NodePricer::price(const Configuration& configuration) const {
  return price_of(features(configuration), state_->context.model);
}

Price price(const graph::Graph& graph, const IdVector<TensorId, isa::DType>& storage,
            graph::NodeId node, const Configuration& configuration, const CostModel& model,
            const isa::Machine& machine) {
  return NodePricer(graph, storage, standings(graph), node, model, machine).price(configuration);
}

}  // namespace systole::layout
