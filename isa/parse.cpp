// The reader of assembly: one instruction or declaration per line, driven by the field tables.
#include <fmt/format.h>

#include <memory>
#include <type_traits>

#include "isa/base/error.hpp"
#include "isa/base/nearest.hpp"
#include "isa/cursor.hpp"
#include "isa/fields.hpp"
#include "isa/limits.hpp"
#include "isa/names.hpp"
#include "isa/text.hpp"

namespace systole::isa {
namespace {

using detail::Cursor;

// ---- One instruction.

template <class S>
void parse_member(Cursor& cursor, std::string_view name, S& op, std::uint32_t& seen) {
  std::uint32_t bit = 1;
  bool found = false;
  for_each_member<S>([&](const auto& member) {
    if (member.name == name) {
      if ((seen & bit) != 0U) {
        cursor.fail(fmt::format("\"{}\" appears twice", name), "keep one of them");
      }
      seen |= bit;
      found = true;
      cursor.value(op.*(member.member));
    }
    bit <<= 1U;
  });
  if (!found) {
    std::vector<std::string> known;
    for_each_member<S>([&](const auto& member) { known.emplace_back(member.name); });
    cursor.fail(fmt::format("{} has no operand \"{}\"", table(Of<S>{}).name, name.substr(0, 64)),
                did_you_mean(name, known));
  }
}

template <class S>
S parse_members(Cursor& cursor) {
  S op{};
  std::uint32_t seen = 0;
  while (!cursor.at_end()) {
    const std::size_t start = cursor.position();
    const std::string_view name = cursor.word();
    if (name.empty() || !cursor.accept("=")) {
      cursor.back_to(start);
      break;
    }
    parse_member(cursor, name, op, seen);
  }
  std::uint32_t bit = 1;
  for_each_member<S>([&](const auto& member) {
    if (member.show == Show::always && (seen & bit) == 0U) {
      cursor.fail(fmt::format("{} needs \"{}\"", table(Of<S>{}).name, member.name),
                  fmt::format("add {}=...", member.name));
    }
    bit <<= 1U;
  });
  return op;
}

Operation parse_operation(Cursor& cursor) {
  cursor.at_end();
  const std::size_t start = cursor.position();
  const std::string_view mnemonic = cursor.word();
  Operation operation = Nop{};
  bool found = false;
  for_each_operation([&]<class S>(Of<S>) {
    if (!found && table(Of<S>{}).name == mnemonic) {
      found = true;
      operation = parse_members<S>(cursor);
    }
  });
  if (!found) {
    std::vector<std::string> known;
    for_each_operation([&]<class S>(Of<S>) { known.emplace_back(table(Of<S>{}).name); });
    cursor.back_to(start);
    cursor.fail(fmt::format("unknown instruction \"{}\"", mnemonic.substr(0, 64)),
                did_you_mean(mnemonic, known));
  }
  return operation;
}

void skip_number(Cursor& cursor) {
  cursor.at_end();
  const std::size_t start = cursor.position();
  if (cursor.word().empty() || !cursor.accept(":")) {
    cursor.back_to(start);
  }
}

Instruction parse_line(Cursor& cursor, Engine engine) {
  Instruction instruction;
  skip_number(cursor);
  instruction.engine = engine;
  if (cursor.accept_word("on")) {
    cursor.at_end();
    instruction.engine = cursor.name<Engine>();
  }
  if (cursor.accept_word("wait")) {
    cursor.at_end();
    do {
      SemaphoreWait wait;
      wait.semaphore = cursor.id<SemaphoreId>('m');
      cursor.expect(">=");
      wait.at_least = cursor.integer<std::int32_t>();
      instruction.waits.push_back(wait);
    } while (cursor.accept(","));
  }
  instruction.operation = parse_operation(cursor);
  if (!cursor.at_end() && cursor.accept("->")) {
    cursor.at_end();
    instruction.signal = cursor.id<SemaphoreId>('m');
  }
  if (cursor.accept_word("from")) {
    cursor.at_end();
    instruction.source = cursor.id<SourceId>('s');
  }
  cursor.expect_end();
  return instruction;
}

// ---- The program around it.

class ProgramParser {
 public:
  void line(Cursor& cursor) {
    if (!started_) {
      header(cursor);
    } else if (cursor.accept_word("stream")) {
      stream(cursor);
    } else if (stream_ != nullptr) {
      stream_->push_back(parse_line(cursor, engine_));
    } else {
      declaration(cursor);
    }
  }
  Program finish(const std::string& file) {
    constexpr const char* names[] = {"name", "machine", "semaphores"};
    for (unsigned i = 0; i < 3; ++i) {
      if (!started_ || (seen_ & (1U << i)) == 0U) {
        throw Error(file, fmt::format("the program has no line \"{}\"", names[i]),
                    "a program begins with: systole program 1");
      }
    }
    return std::move(program_);
  }

 private:
  void header(Cursor& cursor) {
    cursor.expect_word("systole");
    cursor.expect_word("program");
    cursor.at_end();
    cursor.integer<int>(1, 1);
    cursor.expect_end();
    started_ = true;
  }
  void once(Cursor& cursor, unsigned bit) {
    if ((seen_ & bit) != 0U) {
      cursor.fail("this line appears twice", "keep one of them");
    }
    seen_ |= bit;
    cursor.at_end();
  }
  void declaration(Cursor& cursor) {
    if (cursor.accept_word("name")) {
      once(cursor, 1);
      program_.name = cursor.quoted();
    } else if (cursor.accept_word("machine")) {
      once(cursor, 2);
      program_.machine = cursor.quoted();
      cursor.at_end();
      program_.fingerprint = cursor.hexadecimal();
    } else if (cursor.accept_word("semaphores")) {
      once(cursor, 4);
      program_.semaphores = cursor.integer<int>(0, semaphores_max);
    } else if (cursor.accept_word("tensor")) {
      tensor(cursor);
    } else if (cursor.accept_word("source")) {
      source(cursor);
    } else {
      cursor.at_end();
      cursor.fail_expected("name, machine, semaphores, tensor, source or stream");
    }
    cursor.expect_end();
  }
  template <class I>
  static void expect_index(Cursor& cursor, char letter, std::size_t next) {
    cursor.at_end();
    const I id = cursor.id<I>(letter);
    if (id != I(next)) {
      cursor.fail("declarations are numbered in order",
                  fmt::format("the next one is {}{}", letter, next));
    }
    cursor.at_end();
  }
  void source(Cursor& cursor) {
    expect_index<SourceId>(cursor, 's', program_.sources.size());
    Source source;
    source.kind = cursor.name<SourceKind>();
    cursor.at_end();
    source.name = cursor.quoted();
    program_.sources.add(std::move(source));
  }
  void tensor(Cursor& cursor) {
    expect_index<TensorId>(cursor, 't', program_.tensors.size());
    HbmTensor tensor;
    tensor.role = cursor.name<Role>();
    cursor.at_end();
    tensor.name = cursor.quoted();
    cursor.at_end();
    tensor.dtype = cursor.name<DType>();
    cursor.expect_word("shape");
    cursor.at_end();
    cursor.value(tensor.shape);
    cursor.expect_word("order");
    cursor.at_end();
    cursor.value(tensor.order);
    cursor.expect_word("storage");
    cursor.at_end();
    cursor.value(tensor.storage);
    if (cursor.accept_word("data") && !cursor.accept_word("omitted")) {
      tensor.data = data(cursor);
    }
    program_.tensors.add(std::move(tensor));
  }
  static std::shared_ptr<const std::vector<std::byte>> data(Cursor& cursor) {
    cursor.at_end();
    const std::string_view digits = cursor.word();
    std::vector<std::byte> bytes;
    bytes.reserve(digits.size() / 2);
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      const std::string_view pair = digits.substr(i, 2);
      unsigned byte = 0;
      const auto [stop, error] = std::from_chars(pair.data(), pair.data() + pair.size(), byte, 16);
      if (pair.size() != 2 || stop != pair.data() + 2 || error != std::errc{}) {
        cursor.fail("data is not an even number of hexadecimal digits", "give two per byte");
      }
      bytes.push_back(static_cast<std::byte>(byte));
    }
    return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  }
  void stream(Cursor& cursor) {
    cursor.at_end();
    engine_ = cursor.name<Engine>();
    stream_ = &program_.streams[static_cast<std::size_t>(engine_)];
    const unsigned bit = 8U << static_cast<unsigned>(engine_);
    once(cursor, bit);
    cursor.expect_end();
  }

  Program program_;
  bool started_ = false;
  unsigned seen_ = 0;  // bits: name, machine, semaphores, then the streams
  Engine engine_ = Engine::tensor;
  std::vector<Instruction>* stream_ = nullptr;
};

}  // namespace

Program parse(std::string_view text, const std::string& file) {
  ProgramParser parser;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    Cursor cursor(text.substr(0, end), ++number, file);
    if (!cursor.at_end()) {
      parser.line(cursor);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parser.finish(file);
}

Instruction parse_instruction(std::string_view line, Engine engine) {
  const std::string file = "instruction";
  Cursor cursor(line, 1, file);
  return parse_line(cursor, engine);
}

}  // namespace systole::isa
