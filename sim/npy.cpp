#include "sim/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "isa/base/error.hpp"
#include "isa/convert.hpp"

namespace systole::sim {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

// What may follow "'descr':" for each element type.
std::string_view descriptor(isa::DType dtype) {
  switch (dtype) {
    case isa::DType::f32:
    case isa::DType::bf16:
    case isa::DType::f8e4:
    case isa::DType::f8e5:
      return "<f4";
    case isa::DType::f16:
      return "<f2";
    case isa::DType::i32:
      return "<i4";
    case isa::DType::i16:
      return "<i2";
    case isa::DType::i8:
      return "|i1";
    case isa::DType::u32:
      return "<u4";
    case isa::DType::u16:
      return "<u2";
    case isa::DType::u8:
      return "|u1";
    case isa::DType::b8:
      return "|b1";
  }
  return "<f4";
}

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<std::int64_t> shape;
  std::size_t data = 0;  // position of the first element
};

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error(path, what, "give a little-endian .npy file in C order");
}

// The text after `key` in the header's dictionary.
std::string_view value_of(const std::string& path, std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) {
    refuse(path, fmt::format("the header has no {}", key));
  }
  const std::size_t colon = header.find(':', at);
  const std::size_t begin = header.find_first_not_of(' ', colon + 1);
  if (colon == std::string_view::npos || begin == std::string_view::npos) {
    refuse(path, "the header is malformed");
  }
  return header.substr(begin);
}

std::vector<std::int64_t> parse_shape(const std::string& path, std::string_view text) {
  const std::size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos) {
    refuse(path, "the shape is malformed");
  }
  std::vector<std::int64_t> shape;
  std::int64_t value = -1;
  for (const char c : text.substr(1, end)) {
    if (c >= '0' && c <= '9') {
      value = (value < 0 ? 0 : value) * 10 + (c - '0');
      if (value > (std::int64_t{1} << 40)) {
        refuse(path, "the shape is too large");
      }
    } else if (value >= 0) {
      shape.push_back(value);
      value = -1;
    }
  }
  return shape;
}

Header parse_header(const std::string& path, const std::string& file) {
  if (file.size() < 10 || file.compare(0, magic.size(), magic) != 0) {
    refuse(path, "is no .npy file");
  }
  const auto byte = [&file](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(file[i]));
  };
  const std::size_t width = byte(6) == 1 ? 2 : 4;
  if (file.size() < 8 + width) {
    refuse(path, "is truncated");
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < width; ++i) {
    length |= byte(8 + i) << (8 * i);
  }
  Header header;
  header.data = 8 + width + length;
  if (file.size() < header.data) {
    refuse(path, "is truncated");
  }
  const std::string_view text = std::string_view(file).substr(8 + width, length);
  const std::string_view descr = value_of(path, text, "descr");
  header.descr = std::string(descr.substr(1, descr.find('\'', 1) - 1));
  header.fortran = value_of(path, text, "fortran_order").rfind("True", 0) == 0;
  header.shape = parse_shape(path, value_of(path, text, "shape"));
  return header;
}

// Element i as double or int64 for the wide types that are converted.
void convert_element(const std::string& descr, const char* from, isa::DType dtype, std::byte* to) {
  if (descr == "<f8") {
    double value = 0;
    std::memcpy(&value, from, sizeof(value));
    isa::store_double(dtype, value, to);
  } else if (descr == "<f4") {
    float value = 0;
    std::memcpy(&value, from, sizeof(value));
    isa::store_float(dtype, value, to);
  } else if (descr == "<i8") {
    std::int64_t value = 0;
    std::memcpy(&value, from, sizeof(value));
    isa::store_integer(dtype, value, to);
  } else {
    std::int32_t value = 0;
    std::memcpy(&value, from, sizeof(value));
    isa::store_integer(dtype, value, to);
  }
}

}  // namespace

std::vector<std::byte> read_npy(const std::string& path, const isa::HbmTensor& tensor) {
  std::ifstream stream(path, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  if (!stream) {
    throw Error(path, "cannot be read", "check the path and the permissions");
  }
  const Header header = parse_header(path, file);
  if (header.fortran) {
    refuse(path, "is in Fortran order");
  }
  if (header.shape != tensor.shape) {
    throw Error(path,
                fmt::format("has shape ({}), input {} has ({})", fmt::join(header.shape, ", "),
                            tensor.name, fmt::join(tensor.shape, ", ")),
                "give an array of the input's shape");
  }
  std::size_t count = 1;
  for (const std::int64_t extent : tensor.shape) {
    count *= static_cast<std::size_t>(extent);
  }
  const auto size = static_cast<std::size_t>(isa::size_of(tensor.dtype));
  const bool own =
      header.descr == descriptor(tensor.dtype) && header.descr[2] - '0' == static_cast<int>(size);
  const bool wide = header.descr == "<f4" || header.descr == "<f8" || header.descr == "<i4" ||
                    header.descr == "<i8";
  if (!own && !wide) {
    throw Error(
        path,
        fmt::format("element type {} does not fit {}", header.descr, isa::name_of(tensor.dtype)),
        "convert it to the input's type or to f4");
  }
  const std::size_t from_size = own ? size : static_cast<std::size_t>(header.descr[2] - '0');
  if (file.size() - header.data != count * from_size) {
    refuse(path, "has fewer or more elements than its header says");
  }
  std::vector<std::byte> array(count * size);
  if (own) {
    std::memcpy(array.data(), file.data() + header.data, array.size());
    return array;
  }
  for (std::size_t i = 0; i < count; ++i) {
    convert_element(header.descr, file.data() + header.data + i * from_size, tensor.dtype,
                    array.data() + i * size);
  }
  return array;
}

std::string npy_text(const isa::HbmTensor& tensor, std::span<const std::byte> array) {
  std::string shape;
  for (const std::int64_t extent : tensor.shape) {
    shape += fmt::format("{}, ", extent);
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descriptor(tensor.dtype), shape);
  header.resize((10 + header.size() + 64) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string text(magic);
  text += '\x01';
  text += '\0';
  text += static_cast<char>(header.size() & 0xffU);
  text += static_cast<char>(header.size() >> 8U);
  text += header;
  const auto size = static_cast<std::size_t>(isa::size_of(tensor.dtype));
  const bool as_float = descriptor(tensor.dtype) == "<f4" && tensor.dtype != isa::DType::f32;
  if (!as_float) {
    text.append(reinterpret_cast<const char*>(array.data()), array.size());
    return text;
  }
  for (std::size_t i = 0; i + size <= array.size(); i += size) {
    const float value = isa::load_float(tensor.dtype, array.data() + i);
    text.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return text;
}

}  // namespace systole::sim
