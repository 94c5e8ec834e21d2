// Iterators of containers that make their elements when they are asked for one: what operator[]
// returns, by value.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>

namespace dfsim::inline study {

// `Container` has operator[](size_t) const and outlives the iterator. Two iterators compare only
// when they are of one container. O(1), and what operator[] costs.
template <typename Container>
class IndexIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = decltype(std::declval<const Container&>()[size_t{0}]);
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  IndexIterator(const Container& container, size_t index) : container_(&container), index_(index) {}

  value_type operator*() const { return (*container_)[index_]; }
  IndexIterator& operator++() {
    ++index_;
    return *this;
  }
  IndexIterator operator++(int) {
    IndexIterator before = *this;
    ++index_;
    return before;
  }
  bool operator==(const IndexIterator& other) const { return index_ == other.index_; }

 private:
  const Container* container_;
  size_t index_;
};

}  // namespace dfsim::inline study
