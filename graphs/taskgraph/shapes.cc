// daggen's layers first, then the structures of published applications. Each of these takes the
// largest of its sizes that has no more tasks than were asked for.
#include "graphs/taskgraph/shapes.h"

#include <algorithm>
#include <cmath>

namespace dfsim::inline graphs::taskgraph {
namespace {

constexpr size_t kNoWriter = SIZE_MAX;

// Sizes of the layers: tasks^fat on average, each off by at most 1 - regularity of it.
std::vector<size_t> layer_sizes(ShapeBuilder& b) {
  const DaggenOptions& daggen = b.daggen;
  const double width = std::floor(std::pow(static_cast<double>(b.tasks), daggen.fat));
  std::vector<size_t> sizes;
  for (size_t left = b.tasks; left > 0; left -= sizes.back()) {
    const double off = (1.0 - daggen.regularity) * (2.0 * b.rng.uniform() - 1.0);
    const auto size = static_cast<size_t>(std::max(1.0, width * (1.0 + off)));
    sizes.push_back(std::min(size, left));
  }
  return sizes;
}

}  // namespace

void daggen(ShapeBuilder& b) {
  const DaggenOptions& daggen = b.daggen;
  const std::vector<size_t> sizes = layer_sizes(b);
  std::vector<size_t> begin(sizes.size() + 1, 0);
  for (size_t l = 0; l < sizes.size(); ++l) {
    begin[l + 1] = begin[l] + sizes[l];
  }
  std::vector<uint8_t> is_parent(b.tasks, 0);
  std::vector<size_t> parents;
  for (size_t layer = 1; layer < sizes.size(); ++layer) {
    const auto above = static_cast<double>(sizes[layer - 1]);
    for (size_t task = begin[layer]; task < begin[layer + 1]; ++task) {
      const auto wanted = static_cast<size_t>(
          std::min(above, 1.0 + std::floor(b.rng.uniform() * daggen.density * above)));
      parents.clear();
      for (size_t k = 0; k < wanted; ++k) {
        const size_t from = layer - std::min<size_t>(layer, 1 + b.rng.below(daggen.jump));
        size_t index = b.rng.below(sizes[from]);
        // The next of the layer that is not a parent yet; none when all of the layer are.
        size_t tried = 0;
        while (tried < sizes[from] && is_parent[begin[from] + index] != 0) {
          index = (index + 1) % sizes[from];
          ++tried;
        }
        if (tried < sizes[from]) {
          parents.push_back(begin[from] + index);
          is_parent[parents.back()] = 1;
          b.add(parents.back(), task);
        }
      }
      for (const size_t parent : parents) {
        is_parent[parent] = 0;
      }
    }
  }
}

void hpcg(ShapeBuilder& b) {
  const auto side = static_cast<size_t>(std::sqrt(static_cast<double>(b.tasks)));
  b.tasks = side * side;
  for (size_t i = 0; i < b.tasks; ++i) {
    const size_t x = i % side;
    if (x + 1 < side) {
      b.add(i, i + 1);
    }
    for (size_t to = x - std::min<size_t>(x, 1); i + side < b.tasks && to <= x + 1 && to < side;
         ++to) {
      b.add(i, i - x + side + to);
    }
  }
}

void lu(ShapeBuilder& b) {
  const auto tasks_of = [](size_t n) { return n * (n + 1) * (2 * n + 1) / 6; };
  size_t n = 0;
  while (tasks_of(n + 1) <= b.tasks) {
    ++n;
  }
  b.tasks = tasks_of(n);
  std::vector<size_t> writer(n * n, kNoWriter);
  const auto link = [&](size_t tile, size_t task) {
    if (writer[tile] != kNoWriter) {
      b.add(writer[tile], task);
    }
  };
  size_t task = 0;
  for (size_t k = 0; k < n; ++k) {
    link(k * n + k, task);  // getrf
    writer[k * n + k] = task++;
    for (size_t i = k + 1; i < n; ++i) {  // trsm on the column and on the row
      for (const size_t tile : {i * n + k, k * n + i}) {
        link(tile, task);
        link(k * n + k, task);
        writer[tile] = task++;
      }
    }
    for (size_t i = k + 1; i < n; ++i) {  // gemm
      for (size_t j = k + 1; j < n; ++j) {
        link(i * n + j, task);
        link(i * n + k, task);
        link(k * n + j, task);
        writer[i * n + j] = task++;
      }
    }
  }
}

void gaussian(ShapeBuilder& b) {
  const auto tasks_of = [](size_t m) { return (m * m + m - 2) / 2; };
  size_t m = 1;
  while (tasks_of(m + 1) <= b.tasks) {
    ++m;
  }
  b.tasks = tasks_of(m);
  std::vector<size_t> writer(m, kNoWriter);  // of each column
  size_t task = 0;
  for (size_t k = 0; k + 1 < m; ++k) {
    const size_t pivot = task++;
    if (writer[k] != kNoWriter) {
      b.add(writer[k], pivot);
    }
    for (size_t j = k + 1; j < m; ++j) {
      b.add(pivot, task);
      if (writer[j] != kNoWriter) {
        b.add(writer[j], task);
      }
      writer[j] = task++;
    }
  }
}

void montage(ShapeBuilder& b) {
  constexpr size_t kSingles = 6;  // concatenation, model, table, mosaic, shrinking, picture
  const auto tasks_of = [](size_t images) { return 5 * images - 3 + kSingles; };
  if (b.tasks < tasks_of(2)) {
    b.tasks = 0;
    return;
  }
  const size_t images = (b.tasks + 3 - kSingles) / 5;
  b.tasks = tasks_of(images);
  const size_t fits = images;
  const size_t concatenation = fits + 3 * images - 3;
  const size_t model = concatenation + 1;
  const size_t corrections = model + 1;
  const size_t table = corrections + images;
  // Fits of neighbours one, two and three apart (in a ring where the images run out).
  for (size_t f = 0; f < 3 * images - 3; ++f) {
    const size_t first = f % images;
    const size_t second = (first + 1 + f / images) % images;
    b.add(std::min(first, second), fits + f);
    if (first != second) {
      b.add(std::max(first, second), fits + f);
    }
    b.add(fits + f, concatenation);
  }
  b.add(concatenation, model);
  for (size_t i = 0; i < images; ++i) {
    b.add(i, corrections + i);
    b.add(model, corrections + i);
    b.add(corrections + i, table);
    b.add(corrections + i, table + 1);
  }
  for (size_t step = table; step + 1 < b.tasks; ++step) {
    b.add(step, step + 1);
  }
}

void epigenomics(ShapeBuilder& b) {
  constexpr size_t kSteps = 4;    // filter, convert, compress, map
  constexpr size_t kSingles = 4;  // split, merge, index, density
  const size_t lanes = b.tasks < kSteps + kSingles ? 0 : (b.tasks - kSingles) / kSteps;
  b.tasks = lanes == 0 ? 0 : kSteps * lanes + kSingles;
  const size_t merge = kSteps * lanes + 1;
  for (size_t lane = 0; lane < lanes; ++lane) {
    b.add(0, 1 + lane);
    for (size_t step = 0; step + 1 < kSteps; ++step) {
      b.add(1 + step * lanes + lane, 1 + (step + 1) * lanes + lane);
    }
    b.add(1 + (kSteps - 1) * lanes + lane, merge);
  }
  for (size_t step = merge; step + 1 < b.tasks; ++step) {
    b.add(step, step + 1);
  }
}

}  // namespace dfsim::inline graphs::taskgraph
