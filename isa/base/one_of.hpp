// One value out of a closed set of structs, small whatever the largest of them takes.
//
// OneOf<std::variant<S...>> holds small members of the set in place and the others on the heap, each owned alone and copied
// with it. It is used like the variant: visit, get_if, holds. So a program of mostly small instructions takes the memory
// of small instructions.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace systole {

namespace detail {

inline constexpr std::size_t in_place_bytes = 64;

// A value on the heap that copies and compares like a value. Empty only after it was moved from.
template <class T>
class Boxed {
 public:
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : value_(std::make_unique<T>(*other.value_)) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;
  bool operator==(const Boxed& other) const { return *value_ == *other.value_; }

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }

 private:
  std::unique_ptr<T> value_;
};

template <class T>
using Held = std::conditional_t<(sizeof(T) <= in_place_bytes), T, Boxed<T>>;

template <class T>
auto& plain(T& held) {
  return held;
}
template <class T>
T& plain(Boxed<T>& held) {
  return *held;
}
template <class T>
const T& plain(const Boxed<T>& held) {
  return *held;
}

}  // namespace detail

template <class Set>
class OneOf;

template <class... S>
class OneOf<std::variant<S...>> {
 public:
  OneOf() = default;
  template <class T>
  requires(std::same_as<std::remove_cvref_t<T>, S> || ...) OneOf(T&& value)
      : held_(detail::Held<std::remove_cvref_t<T>>(std::forward<T>(value))) {}
  bool operator==(const OneOf&) const = default;

  [[nodiscard]] std::size_t index() const { return held_.index(); }

  template <class F>
  friend decltype(auto) visit(F&& f, const OneOf& one) {
    return std::visit([&f](const auto& held) -> decltype(auto) { return f(detail::plain(held)); },
                      one.held_);
  }
  template <class F>
  friend decltype(auto) visit(F&& f, OneOf& one) {
    return std::visit([&f](auto& held) -> decltype(auto) { return f(detail::plain(held)); },
                      one.held_);
  }

  template <class T>
  [[nodiscard]] T* get_if() {
    auto* held = std::get_if<detail::Held<T>>(&held_);
    return held == nullptr ? nullptr : &detail::plain(*held);
  }
  template <class T>
  [[nodiscard]] const T* get_if() const {
    const auto* held = std::get_if<detail::Held<T>>(&held_);
    return held == nullptr ? nullptr : &detail::plain(*held);
  }
  template <class T>
  [[nodiscard]] bool holds() const {
    return std::holds_alternative<detail::Held<T>>(held_);
  }
  template <class T>
  [[nodiscard]] const T& get() const {
    return detail::plain(std::get<detail::Held<T>>(held_));
  }
  template <class T>
  [[nodiscard]] T& get() {
    return detail::plain(std::get<detail::Held<T>>(held_));
  }

 private:
  std::variant<detail::Held<S>...> held_;
};

}  // namespace systole
