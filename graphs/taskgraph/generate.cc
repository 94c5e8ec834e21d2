// One function per shape writes nodes and edges into a ShapeBuilder; costs and delays are drawn
// afterwards from generators of their own, so that the same seed gives the same costs for any
// shape options.
#include "graphs/taskgraph/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/rng.h"
#include "base/text.h"
#include "graphs/taskgraph/assembler.h"
#include "graphs/taskgraph/shapes.h"

namespace dfsim::inline graphs {
namespace {

constexpr double kMeanCost = 50.5;  // of the uniform costs below
constexpr size_t kMaxGeneratedTasks = 1'000'000'000;
// Costs are whole thousandths of a unit, so that a written file reads back the same.
constexpr double kNsPerStep = static_cast<double>(kNsPerFileUnit) / 1000.0;

using taskgraph::ShapeBuilder;

void chain(ShapeBuilder& b) {
  for (size_t i = 1; i < b.tasks; ++i) {
    b.add(i - 1, i);
  }
}

// Stages of sqrt(tasks) parallel tasks, each between a fork and a join that is the next fork.
void fork_join(ShapeBuilder& b) {
  const size_t width =
      std::max<size_t>(2, static_cast<size_t>(std::sqrt(static_cast<double>(b.tasks))));
  size_t fork = 0;
  while (fork + 1 < b.tasks) {
    const size_t join = std::min(fork + width + 1, b.tasks - 1);
    for (size_t i = fork + 1; i < join; ++i) {
      b.add(fork, i);
      b.add(i, join);
    }
    if (join == fork + 1) {
      b.add(fork, join);
    }
    fork = join;
  }
}

void out_tree(ShapeBuilder& b) {
  for (size_t i = 1; i < b.tasks; ++i) {
    b.add((i - 1) / 2, i);
  }
}

void in_tree(ShapeBuilder& b) {
  for (size_t i = 1; i < b.tasks; ++i) {
    b.add(b.tasks - 1 - i, b.tasks - 1 - (i - 1) / 2);
  }
}

// Layers of sqrt(tasks); each task has two or three parents in the layer before (2.6 on average).
void layers(ShapeBuilder& b, size_t first, size_t count) {
  const size_t width =
      std::max<size_t>(1, static_cast<size_t>(std::sqrt(static_cast<double>(count))));
  for (size_t i = width; i < count; ++i) {
    const size_t above = first + (i / width - 1) * width;
    size_t parents = std::min<size_t>(width, b.rng.uniform() < 0.4 ? 2 : 3);
    // Consecutive parents from a random one on, with a random stride: distinct without a set.
    const size_t start = b.rng.below(width);
    const size_t stride = 1 + b.rng.below(std::max<size_t>(1, width / 3));
    for (size_t k = 0; k < parents; ++k) {
      b.add(above + (start + k * stride) % width, first + i);
    }
  }
}

void layered(ShapeBuilder& b) { layers(b, 0, b.tasks); }

// Each task has one to four parents anywhere among the 100 tasks before it.
void random_dag(ShapeBuilder& b) {
  for (size_t i = 1; i < b.tasks; ++i) {
    const size_t window = std::min<size_t>(i, 100);
    for (size_t parents = 1 + b.rng.below(4); parents > 0; --parents) {
      b.add(i - 1 - b.rng.below(window), i);
    }
  }
}

void independent(ShapeBuilder&) {}

void two_components(ShapeBuilder& b) {
  layers(b, 0, b.tasks / 2);
  layers(b, b.tasks / 2, b.tasks - b.tasks / 2);
}

// Tiled Cholesky factorisation of the largest n x n tiles that fits: n(n+1)(n+2)/6 tasks.
void cholesky(ShapeBuilder& b) {
  size_t n = 0;
  while ((n + 1) * (n + 2) * (n + 3) / 6 <= b.tasks) {
    ++n;
  }
  b.tasks = n * (n + 1) * (n + 2) / 6;
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> writer(n * n, kNone);
  const auto link = [&](size_t tile, size_t task) {
    if (writer[tile] != kNone) {
      b.add(writer[tile], task);
    }
  };
  size_t task = 0;
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = k; i < n; ++i) {  // potrf for i == k, trsm below
      link(i * n + k, task);
      if (i > k) {
        link(k * n + k, task);
      }
      writer[i * n + k] = task++;
    }
    for (size_t j = k + 1; j < n; ++j) {  // syrk for i == j, gemm below
      for (size_t i = j; i < n; ++i) {
        link(i * n + j, task);
        link(i * n + k, task);
        if (i > j) {
          link(j * n + k, task);
        }
        writer[i * n + j] = task++;
      }
    }
  }
}

// Butterfly of the largest power of two m with m (log2 m + 1) tasks.
void fft(ShapeBuilder& b) {
  size_t levels = 0;
  while ((size_t{1} << (levels + 1)) * (levels + 2) <= b.tasks) {
    ++levels;
  }
  const size_t m = b.tasks == 0 ? 0 : size_t{1} << levels;
  b.tasks = m * (levels + 1);
  for (size_t level = 1; level <= levels; ++level) {
    for (size_t i = 0; i < m; ++i) {
      b.add((level - 1) * m + i, level * m + i);
      b.add((level - 1) * m + (i ^ (size_t{1} << (level - 1))), level * m + i);
    }
  }
}

// Time steps of a one-dimensional three-point stencil, as many steps as points.
void stencil(ShapeBuilder& b) {
  const auto side = static_cast<size_t>(std::sqrt(static_cast<double>(b.tasks)));
  b.tasks = side * side;
  for (size_t t = 1; t < side; ++t) {
    for (size_t x = 0; x < side; ++x) {
      for (size_t from = x - std::min<size_t>(x, 1); from <= std::min(x + 1, side - 1); ++from) {
        b.add((t - 1) * side + from, t * side + x);
      }
    }
  }
}

struct ShapeEntry {
  std::string_view name;
  void (*build)(ShapeBuilder&);
};
constexpr ShapeEntry kShapes[] = {
    {"chain", chain},
    {"cholesky", cholesky},
    {"daggen", taskgraph::daggen},
    {"epigenomics", taskgraph::epigenomics},
    {"fft", fft},
    {"fork-join", fork_join},
    {"gaussian", taskgraph::gaussian},
    {"hpcg", taskgraph::hpcg},
    {"in-tree", in_tree},
    {"independent", independent},
    {"layered", layered},
    {"lu", taskgraph::lu},
    {"montage", taskgraph::montage},
    {"random", random_dag},
    {"stencil", stencil},
    {"tree", out_tree},
    {"two-components", two_components},
};

TimeNs round_to_step(double units) {
  return static_cast<TimeNs>(std::llround(units * 1000.0) * static_cast<int64_t>(kNsPerStep));
}

Status check_options(const GenerateOptions& options) {
  const auto check = [](bool good, std::string_view what, auto found, std::string_view expected) {
    return good ? ok_status()
                : invalid_input(fmt::format("{} is {}, expected {}", what, found, expected));
  };
  DFSIM_RETURN_IF_ERROR(
      check(options.tasks <= kMaxGeneratedTasks, "the number of tasks", options.tasks, "1 to 1e9"));
  DFSIM_RETURN_IF_ERROR(
      check(options.devices <= 1024, "the number of devices", options.devices, "at most 1024"));
  DFSIM_RETURN_IF_ERROR(
      check(options.ccr >= 0 && options.ccr <= 1e6, "ccr", options.ccr, "0 to 1e6"));
  DFSIM_RETURN_IF_ERROR(check(options.heterogeneity >= 0 && options.heterogeneity <= 2,
                              "heterogeneity", options.heterogeneity, "0 to 2"));
  DFSIM_RETURN_IF_ERROR(check(options.speed_spread >= 1 && options.speed_spread <= 1e6,
                              "speed spread", options.speed_spread, "1 to 1e6"));
  const auto check_share = [&](double value, std::string_view what) {
    return check(value >= 0 && value <= 1, what, value, "0 to 1");
  };
  DFSIM_RETURN_IF_ERROR(check_share(options.daggen.fat, "fat"));
  DFSIM_RETURN_IF_ERROR(check_share(options.daggen.density, "density"));
  DFSIM_RETURN_IF_ERROR(check_share(options.daggen.regularity, "regularity"));
  DFSIM_RETURN_IF_ERROR(check(options.daggen.jump >= 1 && options.daggen.jump <= kMaxGeneratedTasks,
                              "jump", options.daggen.jump, "1 to 1e9"));
  return check_share(options.restricted, "restricted");
}

// Times of one task; at least one device can run it.
void draw_costs(const GenerateOptions& options, const std::vector<double>& slowness, Rng& rng,
                std::vector<TimeNs>& row) {
  const double mean = 1.0 + 99.0 * rng.uniform();
  for (size_t d = 0; d < row.size(); ++d) {
    const double factor =
        options.devices == 0 ? 1.0 : 1.0 + options.heterogeneity * (rng.uniform() - 0.5);
    row[d] = round_to_step(mean * factor * slowness[d]);
  }
  if (options.restricted > 0 && rng.uniform() < options.restricted) {
    const size_t keep = rng.below(row.size());
    for (size_t d = 0; d < row.size(); ++d) {
      if (d != keep && rng.uniform() < 0.5) {
        row[d] = -1;
      }
    }
  }
}

// By how much the devices stretch times, 1 on average.
std::vector<double> draw_slowness(const GenerateOptions& options, size_t columns, Rng rng) {
  std::vector<double> slowness(columns, 1.0);
  if (options.speed_spread == 1.0) {
    return slowness;
  }
  double sum = 0;
  for (double& each : slowness) {
    each = std::pow(options.speed_spread, -rng.uniform());
    sum += each;
  }
  for (double& each : slowness) {
    each *= static_cast<double>(columns) / sum;
  }
  return slowness;
}

// The delay of each edge, in the order of (producer, reader).
void add_delays(const GenerateOptions& options, ShapeBuilder& builder, Rng rng,
                taskgraph::Assembler& assembler) {
  std::sort(builder.arcs.begin(), builder.arcs.end());
  builder.arcs.erase(std::unique(builder.arcs.begin(), builder.arcs.end()), builder.arcs.end());
  const bool one_result = options.shape == "daggen";
  double delay = 0;
  for (size_t i = 0; i < builder.arcs.size(); ++i) {
    const auto [from, to] = builder.arcs[i];
    if (!one_result || i == 0 || builder.arcs[i - 1].first != from) {
      delay = options.ccr * kMeanCost * 2.0 * rng.uniform();
    }
    assembler.add_edge(TaskId(from), TaskId(to), round_to_step(delay));
  }
}

}  // namespace

const std::vector<std::string>& graph_shapes() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const ShapeEntry& shape : kShapes) {
      names.emplace_back(shape.name);
    }
    return names;
  }();
  return kNames;
}

StatusOr<TaskGraph> generate_task_graph(const GenerateOptions& options) {
  const auto* shape = std::ranges::find(kShapes, options.shape, &ShapeEntry::name);
  if (shape == std::end(kShapes)) {
    return invalid_input(unknown_name_message("shape", options.shape, graph_shapes()));
  }
  DFSIM_RETURN_IF_ERROR(check_options(options));
  const Rng seeded(options.seed);
  ShapeBuilder builder{options.daggen, options.tasks, seeded.split(0), {}};
  shape->build(builder);

  TaskGraph out;
  out.name =
      fmt::format("{}-{}-ccr{}-seed{}", options.shape, builder.tasks, options.ccr, options.seed);
  out.format = "generated";
  out.links = options.links;
  for (size_t d = 0; d < options.devices; ++d) {
    out.devices.push_back({fmt::format("P{}", d + 1), 0});
  }
  taskgraph::Assembler assembler(out.columns());
  assembler.reserve(builder.tasks, builder.arcs.size());
  Rng costs = seeded.split(1);
  const std::vector<double> slowness = draw_slowness(options, out.columns(), seeded.split(3));
  std::vector<TimeNs> row(out.columns());
  for (size_t i = 0; i < builder.tasks; ++i) {
    draw_costs(options, slowness, costs, row);
    assembler.add_task("", row);
  }
  add_delays(options, builder, seeded.split(2), assembler);
  DFSIM_RETURN_IF_ERROR(assembler.finish("generated graph", out));
  return out;
}

}  // namespace dfsim::inline graphs
