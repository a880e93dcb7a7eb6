#include "isa/reference.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "isa/fields.hpp"
#include "isa/machine.hpp"
#include "isa/names.hpp"

namespace systole::isa {
namespace {

template <class T>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<T, Access>) {
    return "operand";
  } else if constexpr (std::is_same_v<T, DmaAccess>) {
    return "side";
  } else if constexpr (std::is_same_v<T, Scalar>) {
    return "number or operand";
  } else if constexpr (std::is_same_v<T, AluOp>) {
    return "alu op";
  } else if constexpr (std::is_same_v<T, Function>) {
    return "function";
  } else if constexpr (std::is_same_v<T, Comparison>) {
    return "comparison";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "switch";
  } else if constexpr (std::is_same_v<T, float>) {
    return "number";
  } else if constexpr (std::is_integral_v<T>) {
    return "integer";
  } else {
    return "integers";
  }
}

// Engines of the operation with its operands in SBUF; those of the second generation only in brackets.
std::string engines_of(Operation operation) {
  for_each_access(operation, [](Access& access, bool) { access.space = Space::sbuf; });
  std::string text;
  for (int e = 0; e < engine_count; ++e) {
    const auto engine = static_cast<Engine>(e);
    const std::string_view separator = text.empty() ? "" : ", ";
    if (executes_on(operation, engine, false)) {
      text += fmt::format("{}{}", separator, name_of(engine));
    } else if (executes_on(operation, engine, true)) {
      text += fmt::format("{}({})", separator, name_of(engine));
    }
  }
  return text;
}

template <class S>
std::string row() {
  std::string members;
  for_each_member<S>([&members](const auto& member) {
    using T = typename std::remove_cvref_t<decltype(member)>::Type;
    members += fmt::format("{}{}`{}`: {}{}", members.empty() ? "" : "; ",
                           member.show == Show::always ? "" : "[", member.name, type_name<T>(),
                           member.show == Show::always ? "" : "]");
  });
  return fmt::format("| `{}` | {} | {} | {} |\n", table(Of<S>{}).name, engines_of(S{}), members,
                     table(Of<S>{}).meaning);
}

}  // namespace

std::string instruction_reference() {
  std::string text =
      "| instruction | engines | operands ([...] may be left out) | meaning |\n"
      "|---|---|---|---|\n";
  for_each_operation([&text]<class S>(Of<S>) { text += row<S>(); });
  return text;
}

std::string architecture_reference() {
  std::string text =
      "| key | unit | range | default | meaning |\n"
      "|---|---|---|---|---|\n";
  for (const yaml::FieldDescription& field : describe_architecture()) {
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", field.name, field.unit, field.range,
                        field.standard, field.meaning);
  }
  return text;
}

}  // namespace systole::isa
