#include "compiler/frontend/npy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "isa/base/error.hpp"

namespace systole::frontend {

namespace {

using graph::Array;
using graph::ElementType;
using graph::Shape;

struct TypeName {
  std::string_view code;  // without the byte-order character
  ElementType type;
};
constexpr std::array<TypeName, 14> type_names = {{{"f4", ElementType::f32},
                                                  {"f8", ElementType::f64},
                                                  {"f2", ElementType::f16},
                                                  {"V2", ElementType::bf16},
                                                  {"i8", ElementType::i64},
                                                  {"i4", ElementType::i32},
                                                  {"i2", ElementType::i16},
                                                  {"i1", ElementType::i8},
                                                  {"u8", ElementType::u64},
                                                  {"u4", ElementType::u32},
                                                  {"u2", ElementType::u16},
                                                  {"u1", ElementType::u8},
                                                  {"b1", ElementType::boolean},
                                                  {"?", ElementType::boolean}}};

struct Header {
  ElementType type = ElementType::f32;
  bool swapped = false;  // big-endian
  bool fortran = false;
  Shape shape;
  std::int64_t data_offset = 0;
};

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw Error(path.string(), what, "give a .npy file written by NumPy or Systole");
}

// The text after 'KEY': in the header's dictionary literal.
std::string_view entry(const std::filesystem::path& path, std::string_view text,
                       std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = fmt::format("{}{}{}", quote, key, quote);
    const auto at = text.find(quoted);
    if (at == std::string_view::npos) {
      continue;
    }
    std::string_view rest = text.substr(at + quoted.size());
    const auto colon = rest.find_first_not_of(' ');
    if (colon == std::string_view::npos || rest[colon] != ':') {
      break;
    }
    rest.remove_prefix(colon + 1);
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
    return rest;
  }
  fail(path, fmt::format("the header has no entry '{}'", key));
}

void parse_type(const std::filesystem::path& path, std::string_view text, Header& header) {
  if (text.empty() || (text[0] != '\'' && text[0] != '"')) {
    fail(path, "structured element types are not supported");
  }
  const auto end = text.find(text[0], 1);
  std::string_view code = text.substr(1, end == std::string_view::npos ? end : end - 1);
  const std::string whole(code);
  if (!code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos) {
    header.swapped = code[0] == '>';
    code.remove_prefix(1);
  }
  const auto* const found = std::find_if(type_names.begin(), type_names.end(),
                                         [&](const TypeName& name) { return name.code == code; });
  if (found == type_names.end()) {
    fail(path, fmt::format("element type '{}' is not supported", whole.substr(0, 16)));
  }
  header.type = found->type;
}

void parse_shape(const std::filesystem::path& path, std::string_view text, Header& header) {
  const auto end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) {
    fail(path, "the header's shape is not a tuple");
  }
  text = text.substr(1, end - 1);
  std::int64_t product = 1;
  while (!text.empty()) {
    const auto start = text.find_first_not_of(" ,");
    if (start == std::string_view::npos) {
      break;
    }
    text.remove_prefix(start);
    std::int64_t extent = -1;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), extent);
    const std::int64_t factor = std::max<std::int64_t>(extent, 1);
    if (parsed.ec != std::errc{} || extent < 0 || header.shape.size() >= 64 ||
        product > (std::int64_t{1} << 40U) / factor) {
      fail(path, "the header's shape is malformed or too large");
    }
    product *= factor;
    header.shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    text.remove_prefix(!text.empty() && text[0] == 'L' ? 1 : 0);
  }
}

Header read_header(const std::filesystem::path& path, std::istream& in) {
  std::array<char, 12> lead{};
  in.read(lead.data(), 10);
  if (!in || std::string_view(lead.data(), 6) != "\x93NUMPY") {
    fail(path, "not an .npy file");
  }
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(lead[i]));
  };
  std::uint32_t length = byte(8) | byte(9) << 8U;
  Header header;
  header.data_offset = 10;
  if (byte(6) >= 2) {
    in.read(lead.data() + 10, 2);
    length |= byte(10) << 16U | byte(11) << 24U;
    header.data_offset = 12;
  }
  if (!in || byte(6) < 1 || byte(6) > 3 || length > (1U << 20U)) {
    fail(path, "unknown .npy version or absurd header length");
  }
  std::string text(length, ' ');
  in.read(text.data(), static_cast<std::streamsize>(length));
  if (!in) {
    fail(path, "the file ends inside its header");
  }
  header.data_offset += length;
  parse_type(path, entry(path, text, "descr"), header);
  header.fortran = entry(path, text, "fortran_order").substr(0, 4) == "True";
  parse_shape(path, entry(path, text, "shape"), header);
  return header;
}

std::ifstream open(const std::filesystem::path& path) {
  std::error_code error;
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path, error)) {
    throw Error(path.string(), "cannot be read", "check the path");
  }
  return in;
}

// Fortran order stores the reversed axes in row-major order.
Array reorder(const Array& stored, const Shape& shape) {
  Array out = graph::make_array(stored.type, shape);
  const auto size = static_cast<std::size_t>(graph::size_of(stored.type));
  Shape index(shape.size(), 0);
  const std::int64_t total = graph::elements(shape);
  for (std::int64_t i = 0; i < total; ++i) {
    std::int64_t at = 0;
    for (std::size_t a = shape.size(); a-- > 0;) {
      at = at * shape[a] + index[a];
    }
    std::memcpy(out.data.data() + static_cast<std::size_t>(i) * size,
                stored.data.data() + static_cast<std::size_t>(at) * size, size);
    for (std::size_t a = shape.size(); a-- > 0 && ++index[a] == shape[a];) {
      index[a] = 0;
    }
  }
  return out;
}

std::string descr(ElementType type) {
  const auto* const found = std::find_if(type_names.begin(), type_names.end(),
                                         [&](const TypeName& name) { return name.type == type; });
  const bool no_order = graph::size_of(type) == 1 || type == ElementType::bf16;
  return fmt::format("{}{}", no_order ? '|' : '<', found->code);
}

}  // namespace

Shape read_npy_shape(const std::filesystem::path& path) {
  std::ifstream in = open(path);
  return read_header(path, in).shape;
}

Array read_npy(const std::filesystem::path& path) {
  std::ifstream in = open(path);
  const Header header = read_header(path, in);
  const std::int64_t bytes = graph::elements(header.shape) * graph::size_of(header.type);
  in.seekg(0, std::ios::end);
  const std::int64_t present = static_cast<std::int64_t>(in.tellg()) - header.data_offset;
  if (present != bytes) {
    fail(path, fmt::format("shape {} needs {} bytes of data, the file holds {}",
                           graph::to_string(header.shape), bytes, present));
  }
  Array array = graph::make_array(header.type, header.shape);
  in.seekg(header.data_offset);
  in.read(reinterpret_cast<char*>(array.data.data()), static_cast<std::streamsize>(bytes));
  if (!in) {
    fail(path, "cannot be read to its end");
  }
  if (header.swapped) {
    const auto size = static_cast<std::ptrdiff_t>(graph::size_of(header.type));
    for (auto at = array.data.begin(); at != array.data.end(); at += size) {
      std::reverse(at, at + size);
    }
  }
  return header.fortran && header.shape.size() > 1 ? reorder(array, header.shape) : array;
}

void write_npy(const std::filesystem::path& path, const Array& array) {
  std::string shape;
  for (const std::int64_t extent : array.shape) {
    shape += fmt::format("{}, ", extent);
  }
  if (array.shape.size() > 1) {
    shape.resize(shape.size() - 2);
  } else if (!shape.empty()) {
    shape.pop_back();  // (3,)
  }
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 descr(array.type), shape);
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  const std::filesystem::path temporary = path.string() + ".part";
  std::ofstream out(temporary, std::ios::binary);
  out.write("\x93NUMPY\x01\x00", 8);
  out.put(static_cast<char>(text.size() & 0xffU));
  out.put(static_cast<char>(text.size() >> 8U));
  out << text;
  out.write(reinterpret_cast<const char*>(array.data.data()),
            static_cast<std::streamsize>(array.data.size()));
  out.close();
  std::error_code error;
  if (out) {
    std::filesystem::rename(temporary, path, error);
  }
  if (!out || error) {
    std::filesystem::remove(temporary, error);
    throw Error(path.string(), "cannot be written", "check the folder and the space left");
  }
}

}  // namespace systole::frontend
