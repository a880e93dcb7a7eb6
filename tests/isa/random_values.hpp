// Random programs for round trips: every member of every struct takes values over its whole range,
// valid or not.
#pragma once

#include <array>
#include <bit>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "isa/base/random.hpp"
#include "isa/fields.hpp"
#include "isa/names.hpp"
#include "isa/program.hpp"

namespace systole::isa::testing {

class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed) : random_(seed) {}

  Random& random() { return random_; }
  bool coin() { return random_.integer(0, 1) == 1; }

  void fill(bool& v) { v = coin(); }
  void fill(float& v) {
    constexpr std::array<float, 6> special = {
        0.0F, -0.0F, 1.0F, 1e-45F, 3.4e38F, std::numeric_limits<float>::infinity()};
    v = coin() ? special[static_cast<std::size_t>(random_.integer(0, 5))]
               : std::bit_cast<float>(static_cast<std::uint32_t>(random_.next()));
    if (v != v) {
      v = 0.1F;  // a NaN is not equal to itself
    }
  }
  template <Named E>
  void fill(E& v) {
    v = static_cast<E>(random_.integer(0, static_cast<std::int64_t>(enum_size<E>) - 1));
  }
  template <class I>
  requires(std::is_integral_v<I> && !std::is_same_v<I, bool>) void fill(I& v) {
    using L = std::numeric_limits<I>;
    switch (random_.integer(0, 3)) {
      case 0:
        v = static_cast<I>(random_.integer(0, 100));
        break;
      case 1:
        v = L::max();
        break;
      case 2:
        v = L::min();
        break;
      default:
        v = static_cast<I>(random_.next());
    }
  }
  template <class T, std::size_t n>
  void fill(std::array<T, n>& values) {
    for (T& v : values) {
      fill(v);
    }
  }
  template <class Tag>
  void fill(Id<Tag>& id) {
    id = random_.integer(0, 4) == 0
             ? Id<Tag>{}
             : Id<Tag>(static_cast<std::size_t>(random_.integer(0, 0xfffffffe)));
  }
  void fill(AccessDim& dim) {
    fill(dim.stride);
    fill(dim.extent);
  }
  void fill(DmaDim& dim) {
    fill(dim.stride);
    fill(dim.extent);
    fill(dim.across);
  }
  template <class A>
  void fill_dims(A& access) {
    access.rank = static_cast<std::int8_t>(random_.integer(0, A::max_rank));
    if (coin()) {
      fill(access.dims);
    } else {
      for (std::int8_t d = 0; d < access.rank; ++d) {
        fill(access.dims[static_cast<std::size_t>(d)]);
      }
    }
  }
  void fill(Access& access) {
    fill(access.space);
    fill(access.dtype);
    fill(access.partition);
    fill(access.partitions);
    fill(access.offset);
    fill_dims(access);
  }
  void fill(DmaAccess& access) {
    fill(access.space);
    fill(access.dtype);
    fill(access.partition);
    fill(access.tensor);
    fill(access.offset);
    fill_dims(access);
  }
  void fill(Scalar& scalar) {
    fill(scalar.per_partition);
    fill(scalar.value);
    if (scalar.per_partition || coin()) {
      fill(scalar.access);
    }
  }
  void fill(std::string& text) {
    const auto size = random_.integer(0, 12);
    text.clear();
    for (std::int64_t i = 0; i < size; ++i) {
      text += static_cast<char>(random_.integer(0, 255));
    }
  }
  template <class T>
  void fill(std::vector<T>& values) {
    values.resize(static_cast<std::size_t>(random_.integer(0, 5)));
    for (T& v : values) {
      fill(v);
    }
  }

  template <class S>
  S structure() {
    S op{};
    for_each_member<S>([&](const auto& member) { fill(op.*(member.member)); });
    return op;
  }
  // An operation of every kind in turn.
  std::vector<Operation> one_of_each() {
    std::vector<Operation> all;
    for_each_operation([&]<class S>(Of<S>) { all.emplace_back(structure<S>()); });
    return all;
  }
  Instruction instruction(Operation operation) {
    Instruction instruction;
    instruction.operation = std::move(operation);
    fill(instruction.engine);
    fill(instruction.source);
    fill(instruction.signal);
    for (std::int64_t i = random_.integer(0, 5); i > 0; --i) {
      SemaphoreWait& wait = instruction.waits.emplace_back();
      fill(wait.semaphore);
      fill(wait.at_least);
    }
    return instruction;
  }
  Program program() {
    Program p;
    fill(p.name);
    fill(p.machine);
    p.fingerprint = random_.next();
    p.semaphores = static_cast<int>(random_.integer(0, 1000));
    for (std::int64_t i = random_.integer(0, 3); i > 0; --i) {
      p.tensors.add(tensor());
    }
    for (std::int64_t i = random_.integer(0, 3); i > 0; --i) {
      Source source;
      fill(source.name);
      fill(source.kind);
      p.sources.add(source);
    }
    for (auto& stream : p.streams) {
      if (coin()) {
        for (Operation& operation : one_of_each()) {
          stream.push_back(instruction(std::move(operation)));
        }
      }
    }
    return p;
  }

 private:
  HbmTensor tensor() {
    HbmTensor t;
    fill(t.name);
    fill(t.role);
    fill(t.dtype);
    fill(t.shape);
    fill(t.order);
    fill(t.storage);
    if (coin()) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(random_.integer(0, 64)));
      for (std::byte& b : bytes) {
        b = static_cast<std::byte>(random_.integer(0, 255));
      }
      t.data = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    }
    return t;
  }

  Random random_;
};

}  // namespace systole::isa::testing
