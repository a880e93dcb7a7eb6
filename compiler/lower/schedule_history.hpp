// Which earlier accesses to the same bytes an access must wait for.
//
// Dependences are read after write, write after read and write after write, on bytes of SBUF and
// PSUM after allocation and on bytes of HBM tensors. Each buffer (and each HBM tensor that is
// written at all) keeps a map of byte segments with the accesses that a later one could still
// conflict with; a write that covers older accesses replaces them. Accesses go by names: numbers
// that whoever makes them gives out.
#pragma once

#include <map>
#include <vector>

#include "compiler/lower/schedule_overlap.hpp"

namespace systole::lower {

// Puts one name in the place of many.
class Joiner {
 public:
  Joiner() = default;
  Joiner(const Joiner&) = delete;
  Joiner& operator=(const Joiner&) = delete;
  virtual ~Joiner() = default;
  // The name of what is done when all of these are.
  [[nodiscard]] virtual std::uint32_t join(const std::vector<std::uint32_t>& names) = 0;
};

// The accesses to one buffer or HBM tensor that still matter, by byte segment. What becomes too
// much in one segment, the joiner sums up.
class History {
 public:
  History() = default;
  // Of an HBM tensor of so many bytes. A large one is cut into a bounded number of segments; which
  // bytes of a segment an access touches is still asked of its pattern.
  explicit History(std::int64_t tensor_bytes);

  // Adds the names of all that the touch must wait for, perhaps several times.
  void collect(const Touch& touch, std::vector<std::uint32_t>& names) const;
  void add(const Touch& touch, std::uint32_t name, Joiner& joiner);

 private:
  struct Record {
    Touch touch;
    std::uint32_t name = 0;
    bool exact = false;  // the pattern leaves no byte of its range out
  };
  struct Segment {
    std::int64_t end = 0;
    std::vector<Record> records;
  };
  using Segments = std::map<std::int64_t, Segment>;  // by first byte, disjoint

  [[nodiscard]] std::size_t met_by(const Touch& touch) const;  // segments, counted up to many
  void collect_part(const Touch& touch, std::vector<std::uint32_t>& names) const;
  void add_part(const Touch& touch, std::uint32_t name, Joiner& joiner);
  [[nodiscard]] isa::ByteRange segments_under(const isa::ByteRange& bytes) const;
  void split(std::int64_t at);
  void cover(const isa::ByteRange& bytes);
  static bool replaces(const Record& fresh, const Record& old, const isa::ByteRange& segment);
  static void record(Segment& segment, const Record& fresh, std::int64_t begin, Joiner& joiner);
  static void coarsen(Segment& segment, std::int64_t begin, Joiner& joiner);

  std::int64_t grain_ = 1;  // bytes; segments begin and end at multiples
  Segments segments_;
};

// Something for every byte of one memory: what its last, now dead, tenants leave to whoever comes
// next.
template <class T>
class Ground {
 public:
  // Calls f(T) for every stretch that meets [begin, end).
  template <class F>
  void inherit(std::int64_t begin, std::int64_t end, F&& f) const;
  void leave(std::int64_t begin, std::int64_t end, const T& value);

 private:
  struct Stretch {
    std::int64_t end = 0;
    T value;
  };
  std::map<std::int64_t, Stretch> stretches_;  // by first byte, disjoint
};

template <class T>
template <class F>
void Ground<T>::inherit(std::int64_t begin, std::int64_t end, F&& f) const {
  auto it = stretches_.upper_bound(begin);
  if (it != stretches_.begin()) {
    --it;
  }
  for (; it != stretches_.end() && it->first < end; ++it) {
    if (it->second.end > begin) {
      f(it->second.value);
    }
  }
}

template <class T>
void Ground<T>::leave(std::int64_t begin, std::int64_t end, const T& value) {
  auto it = stretches_.lower_bound(begin);
  if (it != stretches_.begin()) {
    if (const auto before = std::prev(it); before->second.end > begin) {
      if (before->second.end > end) {
        stretches_.emplace(end, before->second);
      }
      before->second.end = begin;
    }
  }
  it = stretches_.lower_bound(begin);
  while (it != stretches_.end() && it->first < end) {
    if (it->second.end > end) {
      stretches_.emplace(end, it->second);
    }
    it = stretches_.erase(it);
  }
  stretches_.emplace(begin, Stretch{end, value});
}

}  // namespace systole::lower
