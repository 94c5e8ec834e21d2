// Trains one set, writes the card of many.
#include "serving/kernels/train_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "serving/kernels/serving_system.h"
#include "serving/kernels/surface_trainer.h"

namespace dfsim::inline serving {

namespace {

constexpr const char* kCardHead = R"(# Model card: kernels of language-model serving

One file per system, framework and version: times of matrix products, attention over prompts and
over the cache, expert layers, all-reduces, NCCL collectives and the conversion to fp8 on one GPU.

- Data: aiconfigurator's measured tables, Apache-2.0, github.com/ai-dynamo/aiconfigurator commit
  095f58a (2026-08-21). The data itself is not part of this repository. A file keeps the logarithm
  of measured time over a physical bound at the tables' sizes, in steps of 0.4 %.
- Model: local linear regression between measured anchors (a product's n and k, an attention's heads,
  an expert layer's shape), linear interpolation in the logarithm of run-time sizes (rows, tokens,
  sequences, bytes). A measured kernel comes back within 0.2 %.
- Built by `serving/kernels/build_kernels.sh`; the same tables give the same bytes.

Errors below are on anchors left out whole, 15 % of each category, predicted from the rest. Percent;
in 80 %: share inside the interval that the other half of the left-out anchors gave. "-": too few
anchors for a held-out error; such a kernel is answered only near measured ones.
)";

constexpr const char* kCardTail = R"(
## Limits

- One measurement per kernel, alone on an otherwise idle GPU: caches are warmer and clocks higher than
  in a server. The runtime's scales (docs/reference/llm-serving.md) make up for it.
- Attention was measured on batches of equal sequences without a cached prefix; latent attention (MLA)
  not at all: decodes of it are 0.75 of the roofline.
- Beyond the largest measured size the share of the bound stays that of the largest.
)";

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

std::string card_row(const KernelSurface& surface, const KernelCategory& category) {
  const KernelErrors& e = category.errors;
  const std::string head = fmt::format("| {} | {} | {} |", kernel_kind_name(surface.kind()),
                                       category.name, category.anchors.size());
  if (e.rows == 0) {
    return head + " - | - | - | - | - | - |\n";
  }
  return head + fmt::format(" {} | {} | {} | {} | {} | {:.0f} |\n", e.rows, percent(e.mape),
                            percent(e.median), percent(e.p90), percent(e.bias), 100 * e.inside);
}

}  // namespace

StatusOr<KernelSet> train_kernel_set(const KernelTrainingOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const ServingSystem system, find_serving_system(options.system));
  if (options.tables.empty() || options.version.empty() || options.framework.empty()) {
    return invalid_input(
        "training: no tables, framework or version, expected all three; name them");
  }
  // Means of repeated rows are taken in the order of the paths.
  std::vector<std::string> tables = options.tables;
  std::sort(tables.begin(), tables.end());
  std::vector<KernelSample> samples;
  for (const std::string& table : tables) {
    DFSIM_ASSIGN_OR_RETURN(const std::vector<KernelSample> read, read_kernel_table(table));
    samples.insert(samples.end(), read.begin(), read.end());
  }
  return KernelSet{std::string(system.name), options.framework, options.version, system.gpu,
                   train_surfaces(samples, system.gpu)};
}

std::string kernel_file_name(const KernelSet& set) {
  return fmt::format("{}-{}-{}.kernels", set.system, set.framework, set.version);
}

std::string kernel_model_card(std::span<const KernelSet> sets) {
  std::string card = kCardHead;
  for (const KernelSet& set : sets) {
    card += fmt::format(
        "\n## {}\n\n| kind | category | anchors | held-out rows | MAPE | median | p90 | bias | in "
        "80 "
        "% |\n|---|---|---|---|---|---|---|---|---|\n",
        kernel_file_name(set));
    for (const KernelSurface& surface : set.surfaces) {
      for (const KernelCategory& category : surface.categories()) {
        card += card_row(surface, category);
      }
    }
  }
  return card + kCardTail;
}

}  // namespace dfsim::inline serving
