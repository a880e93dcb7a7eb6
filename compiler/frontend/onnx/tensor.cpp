#include "compiler/frontend/onnx/tensor.hpp"
#include "compiler/frontend/onnx/proto.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "isa/base/error.hpp"

namespace systole::frontend {

namespace {

using graph::Array;
using graph::ElementType;

std::int64_t checked_count(const proto::TensorProto& tensor, const std::string& where) {
  constexpr std::int64_t limit = std::int64_t{1} << 40U;
  std::int64_t product = 1;
  for (const std::int64_t extent : tensor.dims()) {
    const std::int64_t factor = std::max<std::int64_t>(extent, 1);
    if (extent < 0 || factor > limit || product > limit / factor) {
      throw Error(where, fmt::format("extent {} is negative or too large", extent),
                  "the file is damaged");
    }
    product *= factor;
  }
  const bool empty =
      std::find(tensor.dims().begin(), tensor.dims().end(), 0) != tensor.dims().end();
  return empty ? 0 : product;
}

[[noreturn]] void wrong_amount(const std::string& where, std::int64_t want, std::int64_t got,
                               const char* unit) {
  throw Error(where,
              fmt::format("its shape needs {} {} of data, the file holds {}", want, unit, got),
              "the file is truncated or damaged");
}

template <class Target, class Field>
Array from_field(const Field& field, ElementType type, const graph::Shape& shape,
                 std::int64_t count, const std::string& where) {
  if (field.size() != count) {
    wrong_amount(where, count, field.size(), "elements");
  }
  Array array = graph::make_array(type, shape);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<Target>(field[static_cast<int>(i)]);
    std::memcpy(array.data.data() + static_cast<std::size_t>(i) * sizeof(Target), &value,
                sizeof(Target));
  }
  return array;
}

// The typed fields; int32_data also carries the narrow integers and the bits of the 16-bit floats.
Array from_typed_fields(const proto::TensorProto& tensor, ElementType type,
                        const graph::Shape& shape, std::int64_t count, const std::string& where) {
  switch (type) {
    case ElementType::f32:
      return from_field<float>(tensor.float_data(), type, shape, count, where);
    case ElementType::f64:
      return from_field<double>(tensor.double_data(), type, shape, count, where);
    case ElementType::i64:
      return from_field<std::int64_t>(tensor.int64_data(), type, shape, count, where);
    case ElementType::u64:
      return from_field<std::uint64_t>(tensor.uint64_data(), type, shape, count, where);
    case ElementType::u32:
      return from_field<std::uint32_t>(tensor.uint64_data(), type, shape, count, where);
    case ElementType::i32:
      return from_field<std::int32_t>(tensor.int32_data(), type, shape, count, where);
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::u16:
    case ElementType::i16:
      return from_field<std::uint16_t>(tensor.int32_data(), type, shape, count, where);
    case ElementType::i8:
    case ElementType::u8:
    case ElementType::boolean:
      return from_field<std::uint8_t>(tensor.int32_data(), type, shape, count, where);
  }
  return {};
}

std::int64_t to_integer(const std::string& text, const std::string& where) {
  std::int64_t value = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || value < 0) {
    throw Error(where, "its external offset or length is not a number", "the file is damaged");
  }
  return value;
}

// The path of an external file, refused when it leaves the model's folder by itself or through a symbolic link.
std::filesystem::path external_path(const std::string& location, const std::string& where,
                                    const std::filesystem::path& folder) {
  const std::filesystem::path relative(location);
  const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
  const bool bad_text = location.find('\0') != std::string::npos || location.size() > 4096;
  std::error_code error;
  const auto root = std::filesystem::weakly_canonical(folder.empty() ? "." : folder, error);
  const auto path = bad_text ? root : std::filesystem::weakly_canonical(root / relative, error);
  const bool inside =
      std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
  if (location.empty() || bad_text || climbs || relative.is_absolute() || error || !inside) {
    throw Error(
        where,
        fmt::format("external data path '{}' leaves the model's folder", location.substr(0, 200)),
        "external data must lie beside the model");
  }
  return path;
}

std::optional<Array> read_external(const proto::TensorProto& tensor, ElementType type,
                                   const graph::Shape& shape, std::int64_t count,
                                   const std::string& where, const std::filesystem::path& folder) {
  std::string location;
  std::int64_t offset = 0;
  const std::int64_t bytes = count * graph::size_of(type);
  std::int64_t length = bytes;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset") {
      offset = to_integer(entry.value(), where);
    } else if (entry.key() == "length") {
      length = to_integer(entry.value(), where);
    }
  }
  const std::filesystem::path path = external_path(location, where, folder);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return std::nullopt;
  }
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (length != bytes || offset > size || bytes > size - offset) {
    wrong_amount(where, bytes, std::max<std::int64_t>(0, std::min(length, size - offset)), "bytes");
  }
  Array array = graph::make_array(type, shape);
  std::ifstream in(path, std::ios::binary);
  in.seekg(offset);
  in.read(reinterpret_cast<char*>(array.data.data()), bytes);
  if (!in) {
    throw Error(path.string(), "cannot be read", "check the file");
  }
  return array;
}

}  // namespace

ElementType element_type_of(int data_type, const std::string& where) {
  switch (data_type) {
    case proto::TensorProto::FLOAT:
      return ElementType::f32;
    case proto::TensorProto::DOUBLE:
      return ElementType::f64;
    case proto::TensorProto::FLOAT16:
      return ElementType::f16;
    case proto::TensorProto::BFLOAT16:
      return ElementType::bf16;
    case proto::TensorProto::INT64:
      return ElementType::i64;
    case proto::TensorProto::INT32:
      return ElementType::i32;
    case proto::TensorProto::INT16:
      return ElementType::i16;
    case proto::TensorProto::INT8:
      return ElementType::i8;
    case proto::TensorProto::UINT64:
      return ElementType::u64;
    case proto::TensorProto::UINT32:
      return ElementType::u32;
    case proto::TensorProto::UINT16:
      return ElementType::u16;
    case proto::TensorProto::UINT8:
      return ElementType::u8;
    case proto::TensorProto::BOOL:
      return ElementType::boolean;
    case proto::TensorProto::STRING:
      throw Error(where, "text elements are not supported", "remove the text part of the model");
    case proto::TensorProto::COMPLEX64:
    case proto::TensorProto::COMPLEX128:
      throw Error(where, "complex elements are not supported", "express them as pairs of reals");
    default:
      throw Error(where, fmt::format("element type number {} is not supported", data_type),
                  "use float, double, float16, bfloat16, integers or bool");
  }
}

TensorContents read_tensor(const proto::TensorProto& tensor, const std::string& where,
                           const std::filesystem::path& folder) {
  TensorContents out;
  out.type = element_type_of(tensor.data_type(), where);
  const std::int64_t count = checked_count(tensor, where);
  out.shape.assign(tensor.dims().begin(), tensor.dims().end());
  if (tensor.data_location() == proto::TensorProto::EXTERNAL) {
    out.value = read_external(tensor, out.type, out.shape, count, where, folder);
    return out;
  }
  if (!tensor.has_raw_data()) {
    out.value = from_typed_fields(tensor, out.type, out.shape, count, where);
    return out;
  }
  const std::int64_t bytes = count * graph::size_of(out.type);
  const auto present = static_cast<std::int64_t>(tensor.raw_data().size());
  if (present != bytes) {
    wrong_amount(where, bytes, present, "bytes");
  }
  out.value = graph::make_array(out.type, out.shape);
  if (bytes > 0) {
    std::memcpy(out.value->data.data(), tensor.raw_data().data(), tensor.raw_data().size());
  }
  return out;
}

}  // namespace systole::frontend
