// The structures of generated task graphs (generate.h): who feeds whom, without costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "graphs/taskgraph/daggen_options.h"

namespace dfsim::inline graphs::taskgraph {

struct ShapeBuilder {
  DaggenOptions daggen;
  size_t tasks;  // in: how many are asked for; out: how many there are
  Rng rng;
  std::vector<std::pair<uint32_t, uint32_t>> arcs;  // (from, to), from < to

  void add(size_t from, size_t to) {
    arcs.emplace_back(static_cast<uint32_t>(from), static_cast<uint32_t>(to));
  }
};

// Layers of random width whose tasks have random parents some layers above, as daggen draws them
// (Suter, Hunold; https://github.com/frs69wq/daggen): see DaggenOptions.
void daggen(ShapeBuilder& b);

// The sweep of HPCG's symmetric Gauss-Seidel smoother over a square grid: a point waits for its
// left neighbour and for the three above it (Dongarra, Heroux, Luszczek 2016,
// doi:10.1177/1094342015593158).
void hpcg(ShapeBuilder& b);
// Tiled LU factorisation without pivoting of n x n tiles: n(n+1)(2n+1)/6 tasks.
void lu(ShapeBuilder& b);
// Gaussian elimination of an m x m matrix by columns: (m^2 + m - 2) / 2 tasks (Cosnard, Marrakchi,
// Robert, Trystram 1988; used by Topcuoglu, Hariri, Wu 2002).
void gaussian(ShapeBuilder& b);
// The structure of the Montage mosaic workflow (Juve et al. 2013,
// doi:10.1016/j.future.2012.08.015): n projections, 3n - 3 fits of overlapping images, a model of
// the background, n corrections, and a mosaic.
void montage(ShapeBuilder& b);
// That of the Epigenomics workflow (the same): k lanes of four steps between a split and a merge.
void epigenomics(ShapeBuilder& b);

}  // namespace dfsim::inline graphs::taskgraph
