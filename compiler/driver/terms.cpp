#include "compiler/driver/terms.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/driver/table.hpp"

namespace systole::driver {
namespace {

using Align = Table::Align;

std::string name_of_term(std::size_t i) {
  return std::string(layout::name_of(static_cast<layout::Feature>(i)));
}

std::string largest_term(const layout::Price& price) {
  const auto largest = std::max_element(price.terms.begin(), price.terms.end());
  return *largest == 0 ? "-"
                       : name_of_term(static_cast<std::size_t>(largest - price.terms.begin()));
}

// `measured` is the source's share of the program's time, `busy` its work on all engines together: what busy is above
// measured was done while other engines, or other operators, worked.
std::string source_table(const Measured& row, const sim::Timing& timing) {
  Table table({{"operator or conversion", Align::left},
               {"predicted"},
               {"largest term", Align::left},
               {"measured"},
               {"busy"},
               {"overlapped"},
               {"DMA bytes"}});
  std::int64_t shown = 0;
  for (const isa::SourceId id : row.sources.ids()) {
    const sim::SourceReport& source = row.outcome.report.sources[id.index()];
    if (source.instructions == 0) {
      continue;
    }
    const auto found = row.prices.find(row.sources[id].name);
    const layout::Price price = found == row.prices.end() ? layout::Price{} : found->second;
    shown += price.total;
    const std::int64_t measured = source.cycles;
    const std::int64_t busy = sim::reference_cycles(timing, source.busy).count();
    table.row({row.sources[id].name, grouped(price.total), largest_term(price), grouped(measured),
               grouped(busy), grouped(std::max<std::int64_t>(0, busy - measured)),
               bytes_text(source.dma_bytes)});
  }
  // What has no instructions of its own: done inside another operator, or the same bytes under another name.
  const std::int64_t fused = row.predicted.total - shown;
  table.row({"fused into others or relabelled", grouped(fused), "", "", "", "", ""});
  return fmt::format("\n{}: cycles per operator and conversion\n", row.strategy) + table.text();
}

std::string totals_table(const std::vector<const Measured*>& rows) {
  std::vector<Table::Column> columns{{"predicted cycles by term", Align::left}};
  for (const Measured* row : rows) {
    columns.push_back({row->strategy});
  }
  Table table(columns);
  for (std::size_t i = 0; i < layout::feature_count; ++i) {
    std::vector<std::string> cells{name_of_term(i)};
    for (const Measured* row : rows) {
      cells.push_back(grouped(row->predicted.terms[i]));
    }
    table.row(cells);
  }
  std::vector<std::string> predicted{"predicted (other engines' work in part)"};
  std::vector<std::string> measured{"measured"};
  for (const Measured* row : rows) {
    predicted.push_back(grouped(row->predicted.total));
    measured.push_back(grouped(row->outcome.report.cycles));
  }
  table.row(predicted);
  table.row(measured);
  return "\n" + table.text();
}

// Predicted better, measured worse: the term that the choice was made for, by how much it differs.
std::string flips_text(const std::vector<const Measured*>& rows) {
  std::string out;
  for (const Measured* a : rows) {
    for (const Measured* b : rows) {
      const std::int64_t more = a->outcome.report.cycles - b->outcome.report.cycles;
      if (a->predicted.total >= b->predicted.total || more <= 0 ||
          more * 200 < b->outcome.report.cycles) {
        continue;  // closer than 0.5 % counts as equal
      }
      std::size_t term = 0;
      for (std::size_t i = 1; i < layout::feature_count; ++i) {
        const auto gain = [&](std::size_t k) {
          return b->predicted.terms[k] - a->predicted.terms[k];
        };
        term = gain(i) > gain(term) ? i : term;
      }
      out += fmt::format(
          "{} is predicted {} cycles below {} but measured {} above; the prediction counts on {}\n",
          a->strategy, grouped(b->predicted.total - a->predicted.total), b->strategy, grouped(more),
          name_of_term(term));
    }
  }
  return out.empty() ? "" : "\nwrongly ranked:\n" + out;
}

}  // namespace

std::string terms_text(const Comparison& comparison, const sim::Timing& timing) {
  std::string out;
  std::vector<const Measured*> rows;
  for (const Measured& row : comparison.rows) {
    if (row.compiled() && row.same_as.empty()) {
      rows.push_back(&row);
      out += source_table(row, timing);
    }
  }
  return rows.empty() ? out : out + totals_table(rows) + flips_text(rows);
}

}  // namespace systole::driver
