// A list that is nearly always empty or has one item, in 24 bytes for small items: the first item lies in place, the others
// on the heap. Contiguous in both cases.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace systole {

template <class T>
class ShortList {
 public:
  ShortList() = default;
  ShortList(std::initializer_list<T> items) { assign(items); }
  ShortList(const std::vector<T>& items) { assign(items); }
  ShortList(const ShortList& other) { assign(other); }
  ShortList(ShortList&& other) noexcept
      : size_(std::exchange(other.size_, 0)),
        first_(std::move(other.first_)),
        all_(std::move(other.all_)) {}
  ShortList& operator=(const ShortList& other) {
    return this == &other ? *this : *this = ShortList(other);
  }
  ShortList& operator=(ShortList&& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    first_ = std::move(other.first_);
    all_ = std::move(other.all_);
    return *this;
  }
  ~ShortList() = default;

  // Keeps room for the next power of two.
  void push_back(T item) {
    if (size_ == 0) {
      first_ = std::move(item);
    } else {
      if ((size_ & (size_ - 1)) == 0) {
        auto larger = std::make_unique<T[]>(std::size_t{size_} * 2);
        std::move(begin(), end(), larger.get());
        all_ = std::move(larger);
      }
      all_[size_] = std::move(item);
    }
    ++size_;
  }
  T& emplace_back() {
    push_back({});
    return *(end() - 1);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  T* begin() { return size_ > 1 ? all_.get() : &first_; }
  T* end() { return begin() + size_; }
  [[nodiscard]] const T* begin() const { return size_ > 1 ? all_.get() : &first_; }
  [[nodiscard]] const T* end() const { return begin() + size_; }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }

  bool operator==(const ShortList& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  template <class Range>
  void assign(const Range& items) {
    for (const T& item : items) {
      push_back(item);
    }
  }

  std::uint32_t size_ = 0;
  T first_{};
  std::unique_ptr<T[]> all_;  // with more than one item: all of them
};

}  // namespace systole
