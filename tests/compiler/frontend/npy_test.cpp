#include "compiler/frontend/npy.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "isa/base/error.hpp"
#include "tests/compiler/frontend/model_file.hpp"

using namespace systole;
using graph::ElementType;

namespace {

// Version 1 file with this dictionary and data, header padded with one newline only.
std::filesystem::path npy(const std::string& dictionary, const std::string& data,
                          char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  const std::string header = dictionary + "\n";
  bytes += static_cast<char>(header.size() & 255U);
  bytes += static_cast<char>(header.size() >> 8U);
  if (version > 1) {
    bytes += std::string(2, '\0');
  }
  return test::write_bytes("file.npy", bytes + header + data);
}

std::string bytes_of(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) {
    out += static_cast<char>(value);
  }
  return out;
}

}  // namespace

TEST_CASE("an array of every element type survives writing and reading") {
  for (const ElementType type :
       {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16, ElementType::i64,
        ElementType::i32, ElementType::i16, ElementType::i8, ElementType::u64, ElementType::u32,
        ElementType::u16, ElementType::u8, ElementType::boolean}) {
    for (const graph::Shape& shape : {graph::Shape{}, {3}, {2, 3}, {0, 4}, {1, 2, 1, 2}}) {
      graph::Array array = graph::make_array(type, shape);
      for (std::int64_t i = 0; i < graph::elements(shape); ++i) {
        graph::set_integer(array, i, i % 2);
      }
      const auto path = test::temporary_folder() / "round.npy";
      frontend::write_npy(path, array);
      CHECK(frontend::read_npy(path) == array);
      CHECK(frontend::read_npy_shape(path) == shape);
    }
  }
}

TEST_CASE("the data of a written file starts at a multiple of 64 bytes") {
  const auto path = test::temporary_folder() / "aligned.npy";
  frontend::write_npy(path, test::floats({2}, {1, 2}));
  CHECK(std::filesystem::file_size(path) % 64 == 8);
}

TEST_CASE("Fortran order and big-endian numbers are put right") {
  // Columns first: 1 4, 2 5, 3 6.
  const auto path = npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}",
                        bytes_of({0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6}));
  const graph::Array array = frontend::read_npy(path);
  CHECK(array.shape == graph::Shape{2, 3});
  CHECK(test::values_of(array) == std::vector<double>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("version 2 headers, other spacing, double quotes and old long suffixes are read") {
  const auto path =
      npy("{\"shape\": (2L,),\"fortran_order\":False,  \"descr\":   \"|u1\"}", bytes_of({7, 9}), 2);
  CHECK(test::values_of(frontend::read_npy(path)) == std::vector<double>{7, 9});
}

TEST_CASE("damaged .npy files are refused with one line and little memory") {
  const std::string data(8, '\0');
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
       "needs 12 bytes of data, the file holds 8"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
       "needs 4 bytes of data, the file holds 8"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (500000000,)}", "the file holds 8"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}",
       "malformed or too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "malformed or too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
       "malformed or too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", "not a tuple"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "'<c8' is not supported"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "structured"},
      {"{'fortran_order': False, 'shape': (1,)}", "no entry 'descr'"},
      {"", "no entry"}};
  for (const auto& [header, message] : cases) {
    CAPTURE(header);
    CHECK_THROWS_WITH_AS(static_cast<void>(frontend::read_npy(npy(header, data))),
                         doctest::Contains(message), Error);
  }
  CHECK_THROWS_WITH_AS(
      static_cast<void>(frontend::read_npy(test::write_bytes("text.npy", "hello"))),
      doctest::Contains("not an .npy file"), Error);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(frontend::read_npy(test::temporary_folder() / "absent.npy")),
      doctest::Contains("cannot be read"), Error);
  CHECK_THROWS_AS(static_cast<void>(frontend::read_npy(test::temporary_folder())), Error);
}

TEST_CASE("a file cut at any byte is refused") {
  const auto path = test::temporary_folder() / "whole.npy";
  frontend::write_npy(path, test::floats({4}, {1, 2, 3, 4}));
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_THROWS_AS(
        static_cast<void>(frontend::read_npy(test::write_bytes("cut.npy", bytes.substr(0, size)))),
        Error);
  }
}
