// Runs the steps of an ONNX import in order and collects their report. When only assumed extents
// contradict the model, the import starts again with other assumptions; extents that the user
// gave are never replaced.
#include "graphs/onnx/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/io/mapped_file.h"
#include "base/text.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/onnx/classify_inputs.h"
#include "graphs/onnx/declared_shapes_internal.h"
#include "graphs/onnx/fallback_internal.h"
#include "graphs/onnx/graph_reader_internal.h"
#include "graphs/onnx/packed_model_internal.h"
#include "graphs/ops/families/extensions/onnx_gradient.h"
#include "graphs/ops/import_notes.h"
#include "graphs/ops/infer.h"
#include "graphs/ops/values/bind_dims.h"
#include "graphs/ops/values/default_extents.h"

namespace dfsim::inline graphs {
namespace {

class Importer {
 public:
  explicit Importer(const ImportOptions& options) : options_(options) {}

  StatusOr<ImportedModel> run(const onnx::ModelProto& model) {
    fill_info(model);
    DFSIM_ASSIGN_OR_RETURN(const ModelScope scope, read_scope(model, &report_.notes));
    builder_.info().opsets.assign(scope.opsets.begin(), scope.opsets.end());
    size_t inlined_nodes = 0;
    GraphReader reader(scope, scope.opsets, &inlined_nodes, &builder_);
    DFSIM_RETURN_IF_ERROR(reader.read_main(model.graph()));
    mark_replaceable(model);
    classify_inputs(builder_, model.graph().initializer_size() > 0);
    bool overridden = false;
    DeclaredShapes declared(model.graph(), report_.dims);
    DFSIM_RETURN_IF_ERROR(
        bind_dims(builder_, options_, &report_, &overridden, [&](const std::string& name) {
          const bool is_inner = declared.is_inner(builder_, name);
          inner_given_ = inner_given_ || is_inner;
          return is_inner;
        }));
    if (!report_.open_axes.empty()) {
      report_.declared_axes = declared.axes();
    }
    DFSIM_RETURN_IF_ERROR(
        infer(model, declared, /*trust_declared=*/options_.use_declared_shapes && !overridden));
    DFSIM_ASSIGN_OR_RETURN(Graph built, builder_.build());
    DFSIM_ASSIGN_OR_RETURN(Graph graph, cost_gradients(std::move(built)));
    DFSIM_RETURN_IF_ERROR(check_trip_counts(options_, graph));
    return ImportedModel{std::move(graph), std::move(report_)};
  }

  // The findings so far, also after an error.
  const ImportReport& report() const { return report_; }

 private:
  // Since this version of the format, an initializer that is listed as an input, too, is the value
  // of an input that the caller leaves out, and no constant.
  void mark_replaceable(const onnx::ModelProto& model) {
    constexpr int64_t kFirstVersion = 4;
    size_t marked = 0;
    for (const auto& input : model.graph().input()) {
      const TensorId id = builder_.find_tensor(input.name());
      if (model.ir_version() >= kFirstVersion && id.valid() &&
          builder_.tensor(id).role != TensorRole::kActivation) {
        builder_.tensor(id).is_replaceable = true;
        ++marked;
      }
    }
    if (marked > 0) {
      report_.notes.push_back(fmt::format(
          "ONNX Runtime must not rearrange weights that are inputs, too ({}); it runs faster where "
          "the graph's inputs leave them out",
          marked));
    }
  }

  void fill_info(const onnx::ModelProto& model) {
    GraphInfo& info = builder_.info();
    info.name = model.graph().name();
    info.producer = model.producer_name();
    if (!model.producer_version().empty()) {
      info.producer += " " + model.producer_version();
    }
    info.ir_version = model.ir_version();
    for (const auto& entry : model.metadata_props()) {
      info.metadata.emplace_back(entry.key(), entry.value());
    }
    report_.file_nodes = model.graph().node_size();
  }

  Status infer(const onnx::ModelProto& model, DeclaredShapes& declared, bool trust_declared) {
    const OnnxFallback libonnx(model);
    InferOptions options;
    options.fallback = [&](GraphBuilder& builder, OpId id, bool has_rule) {
      const std::string reason = has_rule ? std::string() : libonnx.infer(builder, id);
      // Names of subgraphs may repeat those of the main graph, so only its own are looked up.
      if (trust_declared && &builder == &builder_) {
        declared.apply(builder, id);
      }
      return reason;
    };
    if (inner_given_) {
      options.adjust = [&](GraphBuilder& builder, OpId id) {
        if (&builder == &builder_) {
          declared.apply_given(builder, id);
        }
      };
    }
    options.trip_counts = options_.trip_counts;
    options.branch = options_.branch;
    std::vector<OpenLoop> open_loops;
    std::vector<std::string> open_ifs;
    options.open_loops = &open_loops;
    options.open_ifs = &open_ifs;
    options.on_unresolved_in_body = [&](const Op& outer, const Op& op, const std::string& reason) {
      report_.unresolved.push_back(
          {fmt::format("{}/{}", printable(outer.name), op.name), op.op_type, reason});
    };
    builder_.name_ops();
    DFSIM_ASSIGN_OR_RETURN(const auto unresolved, infer_shapes(builder_, options));
    DFSIM_RETURN_IF_ERROR(declared.check_given());
    note_assumptions(open_loops, open_ifs, &report_);
    note_bounds(builder_, &report_.notes);
    for (const UnresolvedOp& op : unresolved) {
      report_.unresolved.push_back({builder_.op(op.op).name, builder_.op(op.op).op_type, op.reason,
                                    op.reason == kDependsOnValues
                                        ? declared.names_of_open_extents(builder_, op.op)
                                        : std::vector<std::string>()});
    }
    return ok_status();
  }

  const ImportOptions& options_;
  bool inner_given_ = false;  // --dim names a dimension that no input has
  GraphBuilder builder_;
  ImportReport report_;
};

std::vector<BoundDim> assumed_dims(const ImportReport& report) {
  std::vector<BoundDim> assumed;
  std::ranges::copy_if(report.dims, std::back_inserter(assumed),
                       [](const BoundDim& dim) { return dim.origin == "assumed"; });
  return assumed;
}

// "name=extent, ...".
std::string dims_text(const std::vector<BoundDim>& dims) {
  std::vector<std::string> texts;
  for (const BoundDim& dim : dims) {
    texts.push_back(fmt::format("{}={}", printable(dim.name, 40), dim.extent));
  }
  return join(texts, ", ");
}

using Assumptions = std::map<std::string, int64_t>;

Assumptions all_assumed_as(const std::vector<BoundDim>& dims, int64_t extent) {
  Assumptions all;
  for (const BoundDim& dim : dims) {
    // A first axis without a name counts as the batch, but need not be one.
    if (!is_batch_name(dim.name)) {
      all.emplace(dim.name, extent);
    }
  }
  return all;
}

// "kv_cache_dim" of ONNX Runtime's model builder, "head_dim", "head_size".
bool is_head_size_name(const std::string& name) {
  return name.find("cache_dim") != std::string::npos || name.starts_with("head_");
}

// Sequences of the usual length as long as `extent`, the other dimensions as usual.
Assumptions shorter_sequences(const std::vector<BoundDim>& dims, int64_t extent) {
  Assumptions shorter;
  for (const BoundDim& dim : dims) {
    if (dim.extent == kUsualSequence && !is_head_size_name(dim.name)) {
      shorter.emplace(dim.name, extent);
    }
  }
  return shorter;
}

// At most `most` other assumptions where the usual ones contradict the model, most likely first and
// few dimensions before all:
// heads have one of few sizes, CLIP has 77 positions and OWL-ViT 16, a mask of 8 positions or a
// window of 3 wants few, a line of text is 48 or 32 pixels high, a window of sound has 512 or 1536
// samples.
std::vector<Assumptions> other_assumptions(const std::vector<BoundDim>& dims, size_t most) {
  std::vector<Assumptions> others;
  for (const BoundDim& dim : dims) {
    for (const int64_t extent : {64, 128, 96, 80, 256}) {
      if (is_head_size_name(dim.name)) {
        others.push_back({{dim.name, extent}});
      }
    }
  }
  constexpr size_t kKept = 2;  // attempts that others leave to extents of 1 and 32 for all
  for (const int64_t extent : {77, 64, 32, 16}) {
    Assumptions shorter = shorter_sequences(dims, extent);
    if (!shorter.empty() && others.size() + kKept < most) {
      others.push_back(std::move(shorter));
    }
  }
  const size_t named = static_cast<size_t>(std::ranges::count_if(
      dims, [](const BoundDim& dim) { return dim.extent != 1 && !is_batch_name(dim.name); }));
  for (const BoundDim& dim : dims) {
    const bool alone = named > 1 && dim.extent != 1 && !is_batch_name(dim.name);
    if (alone && others.size() + kKept < most) {
      others.push_back({{dim.name, 1}});
    }
  }
  others.push_back(all_assumed_as(dims, 1));
  others.push_back(all_assumed_as(dims, 32));
  for (const BoundDim& dim : dims) {
    for (const int64_t extent : {48, 32, 512, 1536}) {
      if (!is_batch_name(dim.name)) {
        others.push_back({{dim.name, extent}});
      }
    }
  }
  others.resize(std::min(others.size(), most));
  return others;
}

// Attempts to import a model again: fewer for large ones, so that an error comes within a second.
size_t most_attempts(const onnx::ModelProto& proto) {
  constexpr int kMostNodes = 20'000;  // times attempts
  return static_cast<size_t>(std::max(2, kMostNodes / std::max(1, proto.graph().node_size())));
}

// `folder` has the model's external data; without one, all of that is unknown.
StatusOr<ImportedModel> import_content(std::string_view content, const ImportOptions& options,
                                       const std::optional<std::string>& folder) {
  DFSIM_ASSIGN_OR_RETURN(onnx::ModelProto proto, parse_model(content));
  if (folder) {
    load_small_external(*folder, &proto);
  }
  Importer first(options);
  auto model = first.run(proto);
  if (model.ok()) {
    return model;
  }
  const std::vector<BoundDim> assumed = assumed_dims(first.report());
  if (assumed.empty()) {
    return model;
  }
  // Perhaps only the assumptions contradict the model.
  for (const Assumptions& assumptions : other_assumptions(assumed, most_attempts(proto))) {
    ImportOptions other = options;
    other.assumed_extents = assumptions;
    auto retried = Importer(other).run(proto);
    if (retried.ok()) {
      retried->report.notes.push_back(fmt::format(
          "the usual assumptions ({}) contradict the model, {} is assumed instead; use --dim",
          dims_text(assumed), dims_text(assumed_dims(retried->report))));
      return retried;
    }
  }
  return Status(model.status().code(),
                fmt::format("{}; the dimensions {} are assumed: give the right ones with --dim",
                            model.status().message(), dims_text(assumed)));
}

}  // namespace

StatusOr<ImportedModel> import_onnx_bytes(std::string_view content, const ImportOptions& options) {
  return import_content(content, options, std::nullopt);
}

uint64_t external_values_digest(const std::string& path) {
  const auto file = MappedFile::open(path);
  auto proto = file.ok() ? parse_model(file->content()) : StatusOr<onnx::ModelProto>(file.status());
  if (!proto.ok()) {
    return Hasher().digest();
  }
  return load_small_external(std::filesystem::path(path).parent_path().string(), &*proto);
}

StatusOr<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  auto model =
      import_content(file.content(), options, std::filesystem::path(path).parent_path().string());
  if (!model.ok()) {
    return model.status().with_place(path);
  }
  return model;
}

}  // namespace dfsim::inline graphs
