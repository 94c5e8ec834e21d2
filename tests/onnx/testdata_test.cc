// ONNX's own test models, where Debian's libonnx-testdata has put them: with every declared shape
// of inner tensors and outputs taken out, dfsim must find them again.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "graphs/ops/totals.h"
#include "graphs/passes/cleanup/prune.h"
#include "graphs/passes/pipeline.h"
#include "opmodel/workload.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

const std::string kTestdataFolder = "/usr/share/libonnx-testdata/data";
constexpr size_t kModels = 1072;
// What is missing: lists without declared shapes as inputs, an empty Optional.
constexpr size_t kLeastResolved = 1065;

// Every pass there is leaves a graph whose work can be counted.
void check_passes_on(const Graph& graph, const std::string& name) {
  std::vector<std::string> all;
  for (const Pass& pass : all_passes()) {
    all.emplace_back(pass.name);
  }
  const auto rewritten = run_passes(graph, {all});
  INFO(name << ": " << rewritten.status().message());
  REQUIRE(rewritten.ok());
  CHECK(graph_totals(rewritten->graph).ok());
  CHECK(make_workload(rewritten->graph).ok());
}

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

// The models feed shapes, axes and scales as inputs, with their values in files beside them: they
// become initializers, as they are in models that people have. A model's only input does when it is
// the size of the output.
bool is_size(const onnx::TensorProto& value) {
  return value.data_type() == onnx::TensorProto::INT32 ||
         value.data_type() == onnx::TensorProto::INT64;
}

void fix_small_inputs(const fs::path& folder, onnx::GraphProto* graph) {
  constexpr int kMaxRank = 1;
  std::set<std::string> fixed;
  for (int i = 0; i < graph->input_size(); ++i) {
    onnx::TensorProto value;
    const std::string bytes = read(folder / "test_data_set_0" /
                                   std::string("input_").append(std::to_string(i)).append(".pb"));
    if (bytes.empty() || !graph->input(i).type().has_tensor_type() ||
        !value.ParseFromString(bytes) || value.dims_size() > kMaxRank ||
        (graph->input_size() < 2 && !is_size(value))) {
      continue;
    }
    value.set_name(graph->input(i).name());
    *graph->add_initializer() = value;
    fixed.insert(value.name());
  }
  for (int i = graph->input_size(); i-- > 0;) {
    if (fixed.count(graph->input(i).name()) == 1) {
      graph->mutable_input()->DeleteSubrange(i, 1);
    }
  }
}

// "" when the outputs have the declared shapes, else what differs.
std::string compare_outputs(const Graph& graph, const onnx::GraphProto& declared) {
  for (const auto& output : declared.output()) {
    if (!output.type().has_tensor_type() || !output.type().tensor_type().has_shape()) {
      continue;
    }
    const Tensor& tensor = graph.tensor(find_tensor(graph, output.name()));
    const auto& dims = output.type().tensor_type().shape().dim();
    bool same = tensor.shape.rank() == dims.size();
    std::string wanted;
    for (int i = 0; i < dims.size(); ++i) {
      wanted.append(std::to_string(dims[i].dim_value())).append(" ");
      const bool given = dims[i].has_dim_value();
      same = same && (!given || tensor.shape[i] == Dim(dims[i].dim_value()) ||
                      (tensor.data_dependent && tensor.shape[i].extent() >= dims[i].dim_value()));
    }
    if (!same) {
      return output.name() + " is " + format_shape(tensor.shape) + ", declared " + wanted;
    }
  }
  return "";
}

TEST_CASE("libonnx-testdata: all load, most resolve, all that resolve are right") {
  if (!fs::exists(kTestdataFolder)) {
    WARN("skipped: Debian's libonnx-testdata is not installed");
    return;
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kTestdataFolder)) {
    if (entry.path().extension() == ".onnx") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  CHECK(files.size() == kModels);
  size_t resolved = 0;
  std::string unresolved;
  for (const fs::path& file : files) {
    onnx::ModelProto model;
    REQUIRE(model.ParseFromString(read(file)));
    const onnx::GraphProto declared = model.graph();
    model.mutable_graph()->clear_value_info();
    for (auto& output : *model.mutable_graph()->mutable_output()) {
      output.clear_type();
    }
    fix_small_inputs(file.parent_path(), model.mutable_graph());
    ImportOptions options;
    options.use_declared_shapes = false;
    const auto imported = import_onnx_bytes(model.SerializeAsString(), options);
    const std::string name = file.parent_path().filename().string();
    if (!imported.ok()) {
      FAIL_CHECK(name << ": " << imported.status().message());
      continue;
    }
    CHECK(graph_totals(imported->graph).ok());
    const auto pruned = prune(imported->graph);
    REQUIRE(pruned.ok());
    CHECK(make_workload(pruned->graph).ok());
    check_passes_on(pruned->graph, name);
    if (!imported->report.unresolved.empty()) {
      const UnresolvedOpInfo& op = imported->report.unresolved[0];
      unresolved += name + ": " + op.op_type + ": " + op.reason + "\n";
      continue;
    }
    ++resolved;
    const std::string difference = compare_outputs(imported->graph, declared);
    if (!difference.empty()) {
      FAIL_CHECK(name << ": " << difference);
    }
  }
  INFO(files.size() - resolved << " unresolved:\n" << unresolved);
  CHECK(resolved >= kLeastResolved);
}

}  // namespace
}  // namespace dfsim
