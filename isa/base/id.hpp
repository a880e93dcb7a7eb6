// Typed indices. Id<Tag> has no arithmetic and does not convert; IdVector<Id, T> accepts only its own id.
// Graphs and programs are vectors of plain structs linked by ids: copyable, comparable, deterministic.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "isa/base/error.hpp"

namespace systole {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : index_(static_cast<std::uint32_t>(index)) {}

  [[nodiscard]] constexpr std::size_t index() const { return index_; }
  [[nodiscard]] constexpr bool valid() const { return index_ != none; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  static constexpr std::uint32_t none = 0xffffffffU;
  std::uint32_t index_ = none;
};

template <class I, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t size, const T& value = T{}) : items_(size, value) {}

  I add(T value) {
    items_.push_back(std::move(value));
    return I(items_.size() - 1);
  }
  T& operator[](I id) {
    check(id.index() < items_.size(), "id out of range");
    return items_[id.index()];
  }
  const T& operator[](I id) const {
    check(id.index() < items_.size(), "id out of range");
    return items_[id.index()];
  }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  void resize(std::size_t size, const T& value = T{}) { items_.resize(size, value); }
  void reserve(std::size_t size) { items_.reserve(size); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  [[nodiscard]] std::vector<I> ids() const {
    std::vector<I> out;
    out.reserve(items_.size());
    for (std::size_t i = 0; i < items_.size(); ++i) {
      out.emplace_back(i);
    }
    return out;
  }
  bool operator==(const IdVector&) const = default;

 private:
  std::vector<T> items_;
};

}  // namespace systole

template <class Tag>
struct std::hash<systole::Id<Tag>> {
  std::size_t operator()(const systole::Id<Tag>& id) const noexcept { return id.index(); }
};
