#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <type_traits>

#include "isa/base/error.hpp"
#include "isa/fields.hpp"
#include "isa/names.hpp"
#include "isa/text.hpp"

namespace systole::isa {
namespace {

class Printer {
 public:
  void add(std::string_view text) { out_ += text; }
  template <class... A>
  void add(fmt::format_string<A...> format, A&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<A>(arguments)...);
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

  void value(bool v) { add(v ? "true" : "false"); }
  void value(float v);
  void value(const Access& access);
  void value(const DmaAccess& access);
  void value(const Scalar& scalar);
  template <Named E>
  void value(E v) {
    add(enum_name(v));
  }
  template <class I>
  requires(std::is_integral_v<I> && !std::is_same_v<I, bool>) void value(I v) {
    add("{}", static_cast<std::int64_t>(v));
  }
  template <class T, std::size_t n>
  void value(const std::array<T, n>& values) {
    list(values);
  }
  template <class L>
  void list(const L& values) {
    add("(");
    std::string_view separator;
    for (const auto& v : values) {
      add(separator);
      value(v);
      separator = ",";
    }
    add(")");
  }
  template <class Tag>
  void id(char letter, Id<Tag> v) {
    if (v.valid()) {
      add("{}{}", letter, v.index());
    } else {
      add("none");
    }
  }
  void quoted(std::string_view text);
  void instruction(const Instruction& instruction, Engine stream);

 private:
  template <class S>
  void members(const S& op);
  template <class A, class F>
  void dims(const A& access, F&& stride);

  std::string out_;
};

// Equal as text: floats by their bits.
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}
bool same(const Scalar& a, const Scalar& b) {
  return same(a.value, b.value) && a.per_partition == b.per_partition && a.access == b.access;
}

void Printer::value(float v) {
  if (v != v) {
    const auto bits = std::bit_cast<std::uint32_t>(v);
    add(bits == 0x7fc00000U ? fmt::format("nan") : fmt::format("nan:{:08x}", bits));
    return;
  }
  add("{}", v);
}

// (extent:stride,...|unused extent:stride,...): the part after the bar only if something stands
// there.
template <class A, class F>
void Printer::dims(const A& access, F&& stride) {
  check(access.rank >= 0 && access.rank <= A::max_rank, "rank of an access pattern out of range");
  const auto rank = static_cast<std::size_t>(access.rank);
  std::size_t shown = access.dims.size();
  while (shown > rank && access.dims[shown - 1] == typename decltype(A::dims)::value_type{}) {
    --shown;
  }
  if (shown == 0) {
    return;
  }
  add("(");
  for (std::size_t d = 0; d < shown; ++d) {
    add(d == rank ? "|" : (d == 0 ? "" : ","));
    add("{}:", access.dims[d].extent);
    stride(access.dims[d]);
  }
  add(")");
}

void Printer::value(const Access& access) {
  add("{}:{}[{}+{}]@{}", enum_name(access.space), enum_name(access.dtype), access.partition,
      access.partitions, access.offset);
  dims(access, [this](const AccessDim& dim) { value(dim.stride); });
}

void Printer::value(const DmaAccess& access) {
  add("{}:{}[", enum_name(access.space), enum_name(access.dtype));
  if (access.space == Space::hbm) {
    id('t', access.tensor);
    if (access.partition != 0) {
      add("|{}", access.partition);
    }
  } else {
    value(access.partition);
    if (access.tensor.valid()) {
      add("|");
      id('t', access.tensor);
    }
  }
  add("]@{}", access.offset);
  dims(access, [this](const DmaDim& dim) { add("{}{}", dim.across ? "p" : "", dim.stride); });
}

void Printer::value(const Scalar& scalar) {
  if (scalar.per_partition) {
    value(scalar.access);
    add("|");
    value(scalar.value);
    return;
  }
  value(scalar.value);
  if (scalar.access != Access{}) {
    add("|");
    value(scalar.access);
  }
}

void Printer::quoted(std::string_view text) {
  out_ += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      add("\\x{:02x}", byte);
    } else {
      out_ += c;
    }
  }
  out_ += '"';
}

template <class S>
void Printer::members(const S& op) {
  constexpr auto row = table(Of<S>{});
  add(row.name);
  const S standard{};
  const auto show = [&](const auto& member) {
    if (member.show == Show::always || !same(op.*(member.member), standard.*(member.member))) {
      add(" {}=", member.name);
      value(op.*(member.member));
    }
  };
  std::apply([&show](const auto&... member) { (show(member), ...); }, row.members);
}

template <>
void Printer::members(const Nop&) {
  add(table(Of<Nop>{}).name);
}

void Printer::instruction(const Instruction& instruction, Engine stream) {
  if (instruction.engine != stream) {
    add("on {} ", name_of(instruction.engine));
  }
  for (std::size_t i = 0; i < instruction.waits.size(); ++i) {
    add(i == 0 ? "wait " : ",");
    id('m', instruction.waits[i].semaphore);
    add(">={}{}", instruction.waits[i].at_least, i + 1 == instruction.waits.size() ? " " : "");
  }
  visit([this](const auto& op) { members(op); }, instruction.operation);
  if (instruction.signal.valid()) {
    add(" -> ");
    id('m', instruction.signal);
  }
  if (instruction.source.valid()) {
    add(" from ");
    id('s', instruction.source);
  }
}

void print_tensor(Printer& out, std::size_t index, const HbmTensor& tensor,
                  const PrintOptions& options) {
  out.add("tensor t{} {} ", index, enum_name(tensor.role));
  out.quoted(tensor.name);
  out.add(" {} shape ", enum_name(tensor.dtype));
  out.list(tensor.shape);
  out.add(" order ");
  out.list(tensor.order);
  out.add(" storage ");
  out.list(tensor.storage);
  if (tensor.data != nullptr) {
    if (tensor.data->size() > options.inline_data_bytes) {
      out.add(" data omitted ; {} bytes", tensor.data->size());
    } else {
      out.add(" data ");
      for (const std::byte b : *tensor.data) {
        out.add("{:02x}", static_cast<unsigned>(b));
      }
    }
  }
  out.add("\n");
}

void print_stream(Printer& out, const Program& program, Engine engine) {
  const auto& stream = program.streams[static_cast<std::size_t>(engine)];
  if (stream.empty()) {
    return;
  }
  out.add("stream {}\n", name_of(engine));
  SourceId last;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const SourceId source = stream[i].source;
    if (source != last && source.valid() && source.index() < program.sources.size()) {
      out.add("  ; ");  // quoted, so that no name can end the comment's line
      out.quoted(program.sources[source].name);
      out.add("\n");
    }
    last = source;
    out.add("  {}: ", i);
    out.instruction(stream[i], engine);
    out.add("\n");
  }
}

}  // namespace

std::string print(const Program& program, const PrintOptions& options) {
  Printer out;
  out.add("systole program 1\nname ");
  out.quoted(program.name);
  out.add("\nmachine ");
  out.quoted(program.machine);
  out.add(" {:016x}\nsemaphores {}\n", program.fingerprint, program.semaphores);
  std::size_t index = 0;
  for (const HbmTensor& tensor : program.tensors) {
    print_tensor(out, index++, tensor, options);
  }
  index = 0;
  for (const Source& source : program.sources) {
    out.add("source s{} {} ", index++, enum_name(source.kind));
    out.quoted(source.name);
    out.add("\n");
  }
  for (int e = 0; e < engine_count; ++e) {
    print_stream(out, program, static_cast<Engine>(e));
  }
  return out.take();
}

std::string print(const Instruction& instruction) {
  Printer out;
  out.instruction(instruction, instruction.engine);
  return out.take();
}

std::string print(const Access& access) {
  Printer out;
  out.value(access);
  return out.take();
}

std::string print(const DmaAccess& access) {
  Printer out;
  out.value(access);
  return out.take();
}

}  // namespace systole::isa
