#include "isa/binary.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <type_traits>

#include "isa/base/error.hpp"
#include "isa/base/file.hpp"
#include "isa/fields.hpp"
#include "isa/limits.hpp"
#include "isa/names.hpp"
#include "isa/text.hpp"

namespace systole::isa {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view magic("SYSTOLE\0", 8);
constexpr std::uint32_t format_version = 2;
constexpr std::size_t header_bytes = 32;

// ---- One archive shape for both directions: value(x) writes x, or reads it.

class Writer {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void value(const T& v) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &v, sizeof(T));
  }
  template <class Tag>
  void value(const Id<Tag>& id) {
    value(id.valid() ? static_cast<std::uint32_t>(id.index()) : 0xffffffffU);
  }
  void count(std::size_t n) { value(static_cast<std::uint64_t>(n)); }
  void value(const std::string& text) {
    count(text.size());
    raw(text.data(), text.size());
  }
  void raw(const void* data, std::size_t size) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    if (size != 0) {
      std::memcpy(bytes_.data() + at, data, size);
    }
  }
  void value(const std::shared_ptr<const std::vector<std::byte>>& data) {
    value(data != nullptr);
    if (data != nullptr) {
      count(data->size());
      raw(data->data(), data->size());
    }
  }
  void rank(const std::int8_t& rank, int) { value(rank); }
  void operation(const Operation& operation);
  template <class List>
  void list(const List& values, std::size_t limit);

  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }
  [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& where)
      : bytes_(bytes), where_(&where) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: byte {}", *where_, at_), what, "compile the program again");
  }
  void raw(void* data, std::size_t size) {
    if (size > bytes_.size() - at_) {
      fail("the program file is cut short");
    }
    if (size != 0) {
      std::memcpy(data, bytes_.data() + at_, size);
    }
    at_ += size;
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void value(T& v) { raw(&v, sizeof(T)); }
  void value(bool& v) {
    std::uint8_t byte = 0;
    value(byte);
    if (byte > 1) {
      fail("a switch is neither 0 nor 1");
    }
    v = byte == 1;
  }
  template <Named E>
  void value(E& v) {
    std::uint8_t byte = 0;
    static_assert(sizeof(E) == 1);
    value(byte);
    if (byte >= enum_size<E>) {
      fail("a name is out of range");
    }
    v = static_cast<E>(byte);
  }
  template <class Tag>
  void value(Id<Tag>& id) {
    std::uint32_t index = 0;
    value(index);
    id = index == 0xffffffffU ? Id<Tag>{} : Id<Tag>(index);
  }
  // A count of things that take at least `least_bytes` each: never more than the rest can hold.
  std::size_t count(std::size_t least_bytes) {
    std::uint64_t n = 0;
    value(n);
    if (n > (bytes_.size() - at_) / least_bytes) {
      fail("a count exceeds the file");
    }
    return static_cast<std::size_t>(n);
  }
  void value(std::string& text) {
    text.resize(count(1));
    raw(text.data(), text.size());
  }
  void value(std::shared_ptr<const std::vector<std::byte>>& data) {
    bool present = false;
    value(present);
    if (present) {
      std::vector<std::byte> bytes(count(1));
      raw(bytes.data(), bytes.size());
      data = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    }
  }
  void rank(std::int8_t& rank, int limit) {
    value(rank);
    if (rank < 0 || rank > limit) {
      fail("the rank of an access pattern is out of range");
    }
  }
  void operation(Operation& operation);
  template <class List>
  void list(List& values, std::size_t limit);
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  const std::string* where_;
  std::size_t at_ = 0;
};

// ---- What the structs consist of, once for both directions. A: archive, the value const for the
// writer.

template <class A, class T>
void transfer(A& archive, T& v);

template <class A, class D>
void transfer_access(A& archive, D& access) {
  archive.value(access.space);
  archive.value(access.dtype);
  archive.value(access.partition);
  if constexpr (std::is_same_v<std::remove_const_t<D>, Access>) {
    archive.value(access.partitions);
  } else {
    archive.value(access.tensor);
  }
  archive.value(access.offset);
  archive.rank(access.rank, std::remove_const_t<D>::max_rank);
  for (auto& dim : access.dims) {
    archive.value(dim.stride);
    archive.value(dim.extent);
    if constexpr (std::is_same_v<std::remove_const_t<D>, DmaAccess>) {
      archive.value(dim.across);
    }
  }
}

template <class A, class S>
void transfer_scalar(A& archive, S& scalar) {
  archive.value(scalar.value);
  archive.value(scalar.per_partition);
  transfer_access(archive, scalar.access);
}

template <class A, class I>
void transfer_instruction(A& archive, I& instruction) {
  archive.value(instruction.engine);
  archive.value(instruction.source);
  archive.value(instruction.signal);
  archive.list(instruction.waits, 1U << 16U);
  archive.operation(instruction.operation);
}

template <class A, class H>
void transfer_tensor(A& archive, H& tensor) {
  archive.value(tensor.name);
  archive.value(tensor.role);
  archive.value(tensor.dtype);
  archive.list(tensor.shape, tensor_rank_max);
  archive.list(tensor.order, tensor_rank_max);
  archive.list(tensor.storage, tensor_rank_max);
  archive.value(tensor.data);
}

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t n>
inline constexpr bool is_array<std::array<T, n>> = true;

template <class A, class T>
void transfer(A& archive, T& v) {
  using P = std::remove_const_t<T>;
  if constexpr (std::is_same_v<P, Access> || std::is_same_v<P, DmaAccess>) {
    transfer_access(archive, v);
  } else if constexpr (std::is_same_v<P, Scalar>) {
    transfer_scalar(archive, v);
  } else if constexpr (std::is_same_v<P, Instruction>) {
    transfer_instruction(archive, v);
  } else if constexpr (std::is_same_v<P, HbmTensor>) {
    transfer_tensor(archive, v);
  } else if constexpr (std::is_same_v<P, Source>) {
    archive.value(v.name);
    archive.value(v.kind);
  } else if constexpr (std::is_same_v<P, SemaphoreWait>) {
    archive.value(v.semaphore);
    archive.value(v.at_least);
  } else if constexpr (is_array<P>) {
    for (auto& element : v) {
      transfer(archive, element);
    }
  } else {
    archive.value(v);
  }
}

template <class A, class S>
void transfer_members(A& archive, S& op) {
  for_each_member<std::remove_const_t<S>>(
      [&](const auto& member) { transfer(archive, op.*(member.member)); });
}

// Bytes that one element of a list takes at the very least.
template <class T>
constexpr std::size_t least_bytes() {
  if constexpr (std::is_same_v<T, Instruction>) {
    return 18;
  } else if constexpr (std::is_same_v<T, HbmTensor>) {
    return 35;
  } else if constexpr (std::is_same_v<T, Source>) {
    return 9;
  } else if constexpr (std::is_same_v<T, SemaphoreWait>) {
    return 8;
  } else {
    return sizeof(T);
  }
}

template <class List>
void Writer::list(const List& values, std::size_t limit) {
  check(values.size() <= limit, "a list of a program is too long for the container");
  count(values.size());
  for (const auto& v : values) {
    transfer(*this, v);
  }
}

template <class List>
void Reader::list(List& values, std::size_t limit) {
  const std::size_t n = count(least_bytes<std::remove_cvref_t<decltype(values[0])>>());
  if (n > limit) {
    fail("a list is too long");
  }
  for (std::size_t i = 0; i < n; ++i) {  // grows as bytes arrive: a false count costs nothing
    transfer(*this, values.emplace_back());
  }
}

void Writer::operation(const Operation& operation) {
  value(static_cast<std::uint8_t>(operation.index()));
  visit([this](const auto& op) { transfer_members(*this, op); }, operation);
}

void Reader::operation(Operation& operation) {
  std::uint8_t kind = 0;
  value(kind);
  if (kind >= std::variant_size_v<Operations>) {
    fail("unknown instruction");
  }
  std::uint8_t index = 0;
  for_each_operation([&]<class S>(Of<S>) {
    if (index++ == kind) {
      S op{};
      transfer_members(*this, op);
      operation = op;
    }
  });
}

constexpr std::size_t no_limit = ~std::size_t{0};

std::vector<std::byte> encode_body(const Program& program) {
  Writer out;
  out.value(program.machine);
  out.value(program.fingerprint);
  out.value(program.name);
  out.value(std::int32_t{program.semaphores});
  out.count(program.tensors.size());
  for (const HbmTensor& tensor : program.tensors) {
    transfer(out, tensor);
  }
  out.count(program.sources.size());
  for (const Source& source : program.sources) {
    transfer(out, source);
  }
  for (const auto& stream : program.streams) {
    out.list(stream, no_limit);
  }
  return out.take();
}

template <class I, class T>
void read_all(Reader& in, IdVector<I, T>& items) {
  std::vector<T> list;
  in.list(list, no_limit);
  for (T& item : list) {
    items.add(std::move(item));
  }
}

Program decode_body(Reader& in) {
  Program program;
  in.value(program.machine);
  in.value(program.fingerprint);
  in.value(program.name);
  std::int32_t semaphores = 0;
  in.value(semaphores);
  if (semaphores < 0 || semaphores > semaphores_max) {
    in.fail("the number of semaphores is out of range");
  }
  program.semaphores = semaphores;
  read_all(in, program.tensors);
  read_all(in, program.sources);
  for (auto& stream : program.streams) {
    in.list(stream, no_limit);
  }
  if (!in.at_end()) {
    in.fail("bytes follow the end of the program");
  }
  return program;
}

}  // namespace

// Eight bytes at a step of a multiply-and-mix hash; every input bit changes the result.
std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL ^ bytes.size();
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::uint64_t word = 0;
    const std::size_t step = std::min<std::size_t>(8, bytes.size() - at);
    std::memcpy(&word, bytes.data() + at, step);
    hash = std::rotl(hash ^ word, 29) * 0xbf58476d1ce4e5b9ULL;
    hash ^= hash >> 32U;
    at += step;
  }
  return hash;
}

std::vector<std::byte> encode(const Program& program) {
  const std::vector<std::byte> body = encode_body(program);
  Writer out;
  out.raw(magic.data(), magic.size());
  out.value(format_version);
  out.value(std::uint32_t{0});
  out.value(static_cast<std::uint64_t>(body.size()));
  out.value(checksum(body));
  out.raw(body.data(), body.size());
  return out.take();
}

bool is_binary(std::span<const std::byte> bytes) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

Program decode(std::span<const std::byte> bytes, const std::string& where) {
  if (!is_binary(bytes)) {
    throw Error(where, "no Systole program", "give a file that systole compile wrote");
  }
  Reader header(bytes.first(std::min(bytes.size(), header_bytes)), where);
  std::uint64_t skipped = 0;
  std::uint32_t version = 0;
  std::uint32_t reserved = 0;
  std::uint64_t length = 0;
  std::uint64_t sum = 0;
  header.value(skipped);
  header.value(version);
  if (version != format_version) {
    throw Error(where,
                fmt::format("container format {}, this Systole reads {}", version, format_version),
                "compile the program again");
  }
  header.value(reserved);
  header.value(length);
  header.value(sum);
  const std::span<const std::byte> body = bytes.subspan(header_bytes);
  if (reserved != 0 || length != body.size()) {
    throw Error(
        where,
        fmt::format("the program file has {} bytes, its header says {}", body.size(), length),
        "the file is cut short or damaged: compile the program again");
  }
  if (checksum(body) != sum) {
    throw Error(where, "the checksum does not match", "the file is damaged: compile it again");
  }
  Reader in(body, where);
  return decode_body(in);
}

Program read_program(const std::string& path) {
  const std::string text = read_file(path);
  const auto bytes = std::as_bytes(std::span(text));
  return is_binary(bytes) ? decode(bytes, path) : parse(text, path);
}

void write_program(const Program& program, const std::string& path) {
  write_file(path, encode(program));
}

void expect_machine(const Program& program, const Machine& machine) {
  if (program.fingerprint != fingerprint(machine)) {
    throw Error(
        program.name.empty() ? "program" : program.name,
        fmt::format("compiled for machine \"{}\" ({:016x}), not for \"{}\" ({:016x})",
                    program.machine, program.fingerprint, machine.name, fingerprint(machine)),
        "compile it for this machine");
  }
}

}  // namespace systole::isa
