// Gives every symbolic dimension of the inputs a number, in a fixed order of precedence: whole
// shapes, named dimensions, the batch, the model's own defaults, assumptions. A later source
// never overrides an earlier one; where two options of the user disagree, that is an error.
#include "graphs/ops/values/bind_dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "graphs/ops/values/default_extents.h"
#include "graphs/ops/values/dim_expression.h"

namespace dfsim::inline graphs {
namespace {

constexpr std::string_view kDefaultPrefix = "dfsim.dim.";
constexpr int64_t kColours = 3;
constexpr int64_t kLeastPixels = 64;  // of a side of an image
constexpr int64_t kLongestSide = 4;   // over the shorter one

// A fixed input of 3 x height x width, as torchvision's detectors take it: its first axis holds
// colours, and the network adds the batch. Texts have that rank, too, but are not about square.
bool is_one_image(const Tensor& tensor) {
  const Shape& shape = tensor.shape;
  if (shape.rank() != 3 || !is_floating(tensor.dtype) || !shape[1].known() || !shape[2].known()) {
    return false;
  }
  const int64_t height = shape[1].extent();
  const int64_t width = shape[2].extent();
  return shape[0].extent() == kColours && std::min(height, width) >= kLeastPixels &&
         std::max(height, width) <= kLongestSide * std::min(height, width);
}

class Binder {
 public:
  using IsInner = std::function<bool(const std::string& name)>;

  Binder(GraphBuilder& builder, const ImportOptions& options, ImportReport* report,
         const IsInner& is_inner)
      : builder_(builder), options_(options), report_(report), is_inner_(is_inner) {}

  Status run(bool* overridden) {
    collect_open_axes();
    DFSIM_RETURN_IF_ERROR(apply_input_shapes());
    name_unknown_dims();
    collect_symbols();
    DFSIM_RETURN_IF_ERROR(apply_given_dims());
    DFSIM_RETURN_IF_ERROR(apply_batch());
    apply_defaults();
    DFSIM_RETURN_IF_ERROR(add_up_totals());
    DFSIM_RETURN_IF_ERROR(derive_expressions());
    DFSIM_RETURN_IF_ERROR(substitute());
    *overridden = overridden_;
    return ok_status();
  }

 private:
  Status check_extent(std::string_view what, int64_t extent, int64_t least) const {
    if (extent < least || extent > kMaxExtent) {
      return invalid_input(
          fmt::format("{} is {}; expected {} to {}", what, extent, least, kMaxExtent));
    }
    return ok_status();
  }

  void collect_open_axes() {
    for (const TensorId input : builder_.inputs()) {
      const Tensor& tensor = builder_.tensor(input);
      for (int i = 0; i < tensor.shape.rank(); ++i) {
        const Dim dim = tensor.shape[i];
        if (!dim.known()) {
          report_->open_axes.push_back({tensor.name, i,
                                        dim.is_symbol()
                                            ? std::string(builder_.symbols()[dim.symbol_index()])
                                            : fmt::format("{}[{}]", tensor.name, i)});
        }
      }
    }
  }

  Status apply_input_shapes() {
    for (const auto& [name, extents] : options_.input_shapes) {
      const TensorId id = builder_.find_tensor(name);
      if (!id.valid() || !builder_.tensor(id).is_input) {
        std::vector<std::string> names;
        for (const TensorId input : builder_.inputs()) {
          names.push_back(builder_.tensor(input).name);
        }
        return invalid_input("--input-shape: " + unknown_name_message("input", name, names));
      }
      Tensor& tensor = builder_.tensor(id);
      if (tensor.shape.has_rank() && tensor.shape.rank() != static_cast<int>(extents.size())) {
        return invalid_input(
            fmt::format("--input-shape: input '{}' has rank {}, {} extents were given",
                        printable(name), tensor.shape.rank(), extents.size()));
      }
      for (size_t i = 0; i < extents.size(); ++i) {
        DFSIM_RETURN_IF_ERROR(check_extent(
            fmt::format("--input-shape: axis {} of '{}'", i, printable(name)), extents[i], 0));
        if (tensor.shape.has_rank()) {
          const Dim old = tensor.shape[static_cast<int>(i)];
          overridden_ = overridden_ || (old.known() && old != Dim(extents[i]));
          DFSIM_RETURN_IF_ERROR(bind_through_input(old, extents[i], name));
        }
      }
      tensor.shape = Shape::of(extents);
    }
    return ok_status();
  }

  // A whole shape also says what the symbols in it are, for the other inputs that use them.
  Status bind_through_input(Dim dim, int64_t extent, const std::string& input) {
    if (!dim.is_symbol()) {
      return ok_status();
    }
    const std::string& symbol = builder_.symbols()[dim.symbol_index()];
    const auto [it, inserted] = bound_.try_emplace(symbol, BoundDim{symbol, extent, "given"});
    if (!inserted && it->second.extent != extent) {
      return invalid_input(
          fmt::format("--input-shape: '{}' makes dimension '{}' {}, another input makes it {}",
                      printable(input), printable(symbol), extent, it->second.extent));
    }
    return ok_status();
  }

  void name_unknown_dims() {
    for (const TensorId input : builder_.inputs()) {
      Tensor& tensor = builder_.tensor(input);
      Dims dims = tensor.shape.dims();
      for (size_t i = 0; i < dims.size(); ++i) {
        if (!dims[i].known() && !dims[i].is_symbol()) {
          dims[i] = Dim::symbol(builder_.symbol(fmt::format("{}[{}]", tensor.name, i)));
        }
      }
      if (tensor.shape.has_rank()) {
        tensor.shape = Shape(std::move(dims));
      }
    }
  }

  void collect_symbols() {
    for (const TensorId input : builder_.inputs()) {
      const Shape& shape = builder_.tensor(input).shape;
      for (int i = 0; i < shape.rank(); ++i) {
        if (!shape[i].is_symbol()) {
          continue;
        }
        const std::string& name = builder_.symbols()[shape[i].symbol_index()];
        const Tensor& tensor = builder_.tensor(input);
        if (known_symbols_.insert(name).second) {
          symbols_.push_back(name);
          uses_.emplace(name, DimUse{name, tensor.name, tensor.dtype, shape, i});
        } else if (DimUse& first = uses_.at(name); first.axis == 0 && i > 0) {
          first = DimUse{name, tensor.name, tensor.dtype, shape, i};  // an inner axis says more
        }
      }
    }
    for (const std::string& name : symbols_) {
      rename_behind_batch(&uses_.at(name));
    }
    for (const std::string& name : symbols_) {
      // "x[0]" or "s77" as the first axis of an image-like or token input is the batch as well.
      if (is_batch_name(uses_.at(name).symbol) ||
          (uses_.at(name).axis == 0 && is_made_up_name(name))) {
        batch_symbols_.push_back(name);
      }
    }
    std::erase_if(batch_symbols_, [this](const std::string& name) { return is_derived(name); });
  }

  // A symbol like "N" after another batch says nothing, as N in [batch_size, N].
  void rename_behind_batch(DimUse* use) const {
    if (use->axis == 0 || !is_batch_name(use->symbol) || !use->shape[0].is_symbol()) {
      return;
    }
    const std::string& first = builder_.symbols()[use->shape[0].symbol_index()];
    if (first != use->symbol && is_batch_name(first)) {
      use->symbol = fmt::format("{}[{}]", use->input, use->axis);
    }
  }

  // Arithmetic on other symbols of the inputs: it has their values, not one of its own.
  bool is_derived(const std::string& name) const {
    return evaluate_dim_expression(name,
                                   [this](std::string_view part) {
                                     return known_symbols_.contains(std::string(part))
                                                ? std::optional<int64_t>(1)
                                                : std::nullopt;
                                   })
        .has_value();
  }

  Status apply_given_dims() {
    for (const auto& [name, extent] : options_.dims) {
      const bool of_input = known_symbols_.contains(name) || bound_.contains(name);
      if (!of_input && is_inner_ && is_inner_(name)) {
        inner_.push_back(name);
      } else if (!of_input) {
        return invalid_input("--dim: " + unknown_name_message("dimension", name, symbols_));
      }
      DFSIM_RETURN_IF_ERROR(check_extent(fmt::format("--dim {}", printable(name)), extent, 0));
      const auto [it, inserted] = bound_.try_emplace(name, BoundDim{name, extent, "given"});
      if (!inserted && it->second.extent != extent) {
        return invalid_input(
            fmt::format("--dim: '{}' is {}, but --input-shape makes it {}; give one of them",
                        printable(name), extent, it->second.extent));
      }
    }
    return ok_status();
  }

  // --batch would change nothing, because other options say what the batch is.
  Status batch_contradiction(int64_t other, std::string_view option) const {
    return invalid_input(fmt::format("--batch: is {}, but {} makes the batch {}; give one of them",
                                     *options_.batch, option, other));
  }

  Status apply_batch() {
    if (!options_.batch) {
      return ok_status();
    }
    DFSIM_RETURN_IF_ERROR(check_extent("--batch", *options_.batch, 1));
    bool agrees = false;
    for (const std::string& name : batch_symbols_) {
      const auto it = bound_.try_emplace(name, BoundDim{name, *options_.batch, "given"}).first;
      agrees = agrees || it->second.extent == *options_.batch;
    }
    if (!batch_symbols_.empty()) {
      const std::string& first = batch_symbols_[0];
      return agrees
                 ? ok_status()
                 : batch_contradiction(bound_.at(first).extent,
                                       options_.dims.contains(first) ? "--dim" : "--input-shape");
    }
    // No symbol: the batch is the first axis of every input that was not given a whole shape.
    bool changed = false;
    std::optional<int64_t> other;  // the batch of an input whose whole shape is given
    for (const TensorId input : builder_.inputs()) {
      Tensor& tensor = builder_.tensor(input);
      if (tensor.shape.rank() < 2) {
        continue;
      }
      if (options_.input_shapes.contains(tensor.name)) {
        other = tensor.shape[0].extent();
        changed = changed || other == *options_.batch;
        continue;
      }
      Dims dims = tensor.shape.dims();
      overridden_ = overridden_ || (dims[0].known() && dims[0] != Dim(*options_.batch));
      changed = true;
      dims[0] = Dim(*options_.batch);
      tensor.shape = Shape(std::move(dims));
    }
    if (!changed && other) {
      return batch_contradiction(*other, "--input-shape");
    }
    if (!changed && options_.input_shapes.empty()) {
      return invalid_input("--batch: no input has a batch dimension; use --input-shape NAME=...");
    }
    return ok_status();
  }

  void apply_defaults() {
    for (const std::string& name : symbols_) {
      if (bound_.contains(name) || is_derived(name)) {
        continue;
      }
      const auto model_default = default_from_metadata(name);
      bound_.emplace(name, model_default ? BoundDim{name, *model_default, "model's default"}
                                         : BoundDim{name, assumption_for(name), "assumed"});
    }
  }

  // Decoders with a cache name three dimensions that depend on each other: those of the new tokens,
  // of the cache, and "total_..." of both. One that the user did not give follows from the
  // others.
  Status add_up_totals() {
    constexpr std::string_view kTotal = "total_";
    for (const std::string& name : symbols_) {
      if (!name.starts_with(kTotal)) {
        continue;
      }
      const std::string added = name.substr(kTotal.size());
      const auto total = bound_.find(name);
      const auto past = bound_.find("past_" + added);
      const auto tokens = bound_.find(added);
      if (total == bound_.end() || past == bound_.end() || tokens == bound_.end()) {
        continue;
      }
      if (total->second.origin == "assumed") {
        const int64_t both = past->second.extent + tokens->second.extent;
        DFSIM_RETURN_IF_ERROR(check_extent(
            fmt::format("dimension '{}', derived from others,", printable(name)), both, 0));
        total->second = {name, both, "derived"};
      } else if (past->second.origin == "assumed" &&
                 total->second.extent >= tokens->second.extent) {
        past->second = {past->first, total->second.extent - tokens->second.extent, "derived"};
      }
    }
    return ok_status();
  }

  Status derive_expressions() {
    for (const std::string& name : symbols_) {
      if (bound_.contains(name)) {
        continue;
      }
      const auto extent = evaluate_dim_expression(name, [this](std::string_view part) {
        const auto it = bound_.find(std::string(part));
        return it != bound_.end() ? std::optional(it->second.extent) : std::nullopt;
      });
      if (!extent) {  // made of another expression
        bound_.emplace(name, BoundDim{name, assumption_for(name), "assumed"});
        continue;
      }
      DFSIM_RETURN_IF_ERROR(check_extent(
          fmt::format("dimension '{}', derived from others,", printable(name)), *extent, 0));
      bound_.emplace(name, BoundDim{name, *extent, "derived"});
    }
    return ok_status();
  }

  int64_t assumption_for(const std::string& name) const {
    const auto it = options_.assumed_extents.find(name);
    return it != options_.assumed_extents.end() ? it->second : default_extent(uses_.at(name));
  }

  std::optional<int64_t> default_from_metadata(const std::string& name) const {
    for (const auto& [key, value] : builder_.info().metadata) {
      if (key != std::string(kDefaultPrefix) + name) {
        continue;
      }
      int64_t extent = -1;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), extent);
      if (error == std::errc() && end == value.data() + value.size() && extent >= 0 &&
          extent <= kMaxExtent) {
        return extent;
      }
    }
    return std::nullopt;
  }

  Status substitute() {
    for (const TensorId input : builder_.inputs()) {
      Tensor& tensor = builder_.tensor(input);
      if (!tensor.shape.has_rank()) {
        continue;
      }
      Dims dims = tensor.shape.dims();
      for (Dim& dim : dims) {
        if (dim.is_symbol()) {
          dim = Dim(bound_.at(builder_.symbols()[dim.symbol_index()]).extent);
        }
      }
      tensor.shape = Shape(std::move(dims));
    }
    for (const auto* names : {&symbols_, &inner_}) {
      for (const std::string& name : *names) {
        report_->dims.push_back(bound_.at(name));
      }
    }
    report_->batch = batch_of_inputs();
    return ok_status();
  }

  int64_t batch_of_inputs() const {
    if (!batch_symbols_.empty()) {
      return bound_.at(batch_symbols_[0]).extent;
    }
    if (options_.batch) {
      return *options_.batch;
    }
    for (const TensorId input : builder_.inputs()) {
      const Shape& shape = builder_.tensor(input).shape;
      if (shape.rank() >= 2 && shape[0].known()) {
        return is_one_image(builder_.tensor(input)) ? 1 : shape[0].extent();
      }
    }
    return 1;
  }

  GraphBuilder& builder_;
  const ImportOptions& options_;
  ImportReport* report_;
  const IsInner& is_inner_;
  std::vector<std::string> symbols_;  // in order of first use by inputs
  std::vector<std::string> inner_;    // given, but of no input
  std::unordered_set<std::string> known_symbols_;
  std::unordered_map<std::string, DimUse> uses_;  // the first, or the first on an inner axis
  std::vector<std::string> batch_symbols_;
  std::map<std::string, BoundDim> bound_;
  bool overridden_ = false;
};

}  // namespace

Status bind_dims(GraphBuilder& builder, const ImportOptions& options, ImportReport* report,
                 bool* overridden, const std::function<bool(const std::string& name)>& is_inner) {
  return Binder(builder, options, report, is_inner).run(overridden);
}

}  // namespace dfsim::inline graphs
