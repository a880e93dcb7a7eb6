#include <doctest/doctest.h>

#include "compiler/driver/table.hpp"

using namespace systole::driver;

TEST_CASE("a table pads columns to their widest cell and drops trailing blanks") {
  Table table({{"name", Table::Align::left}, {"n"}});
  table.row({"a", "1"});
  table.row({"longer", "1,000"});
  table.row({"short"});
  CHECK(table.text() == "name        n\na           1\nlonger  1,000\nshort\n");
}

TEST_CASE("numbers are grouped by thousands") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(-1234567) == "-1,234,567");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(percent(1, 0) == "-");
  CHECK(percent(1, 8) == "12.5 %");
}
