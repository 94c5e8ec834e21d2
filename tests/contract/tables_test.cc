// Every table of extension points is complete: what the files of a folder define is what the table
// lists, no more and no less. CONTRIBUTING.md shows how to add to each.
#include <catch2/catch.hpp>
#include <set>

#include "datasets/importers/importer.h"
#include "datasets/traces/trace_readers.h"
#include "graphs/ops/op_families.h"
#include "graphs/passes/pipeline.h"
#include "graphs/taskgraph/readers.h"
#include "hardware/platform_loader.h"
#include "opmodel/features/feature_family.h"
#include "opmodel/features/features.h"
#include "opmodel/train/recipes.h"
#include "partition/plans/parallel_degrees.h"
#include "schedulers/registry.h"
#include "tests/contract/source_files.h"

namespace dfsim {
namespace {

using Names = std::vector<std::string>;

template <typename Range>
Names sorted_names(const Range& range) {
  Names names;
  for (const auto& entry : range) {
    names.emplace_back(entry.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool all_different(const Names& names) {
  return std::set<std::string>(names.begin(), names.end()).size() == names.size();
}

TEST_CASE("Policies: every factory of schedulers/policies is in the registry") {
  const auto files = source_files("schedulers/policies", ".*\\.cc");
  REQUIRE(files.size() >= 30);
  Names defined = names_in(files, R"(^(?:Static|Online)Ptr make_(\w+)\(const PolicyOptions&)");
  for (std::string& name : defined) {
    std::replace(name.begin(), name.end(), '_', '-');
  }
  std::sort(defined.begin(), defined.end());
  CHECK(sorted_names(builtin_policies()) == defined);
  CHECK(all_different(defined));
  for (const PolicyInfo& policy : builtin_policies()) {
    INFO(policy.name);
    CHECK((policy.make_static == nullptr) != (policy.make_online == nullptr));
    CHECK_FALSE(policy.summary.empty());
  }
}

TEST_CASE("Policy variants: every factory of schedulers/policies is in the table") {
  const auto files = source_files("schedulers/policies", ".*\\.cc");
  Names ready = names_in(files, R"(^OnlinePtr ready_(\w+)\(const PolicyOptions&)");
  Names ahead = names_in(files, R"(^StaticPtr ahead_(\w+)\(const PolicyOptions&)");
  std::sort(ready.begin(), ready.end());
  std::sort(ahead.begin(), ahead.end());
  const std::string table = table_text("schedulers/variants.inc");
  CHECK(names_in(table, R"(^DFSIM_READY_VARIANT\((\w+)\)$)") == ready);
  CHECK(names_in(table, R"(^DFSIM_AHEAD_VARIANT\((\w+)\)$)") == ahead);
  for (const PolicyInfo& policy : policy_variants()) {
    INFO(policy.name);
    CHECK((policy.make_static == nullptr) != (policy.make_online == nullptr));
    CHECK(policy.online() == policy.name.ends_with("@ready"));
  }
}

TEST_CASE("Trace readers: every *_reader.cc and *_dialect.cc is in the table") {
  const auto files = source_files("datasets/traces", ".*_(reader|dialect)\\.cc");
  Names table = names_in(table_text("datasets/traces/trace_readers.inc"),
                         R"(^DFSIM_TRACE_(?:READER|DIALECT)\((\w+)\)$)");
  CHECK(table == names_in(files, R"(^TraceReader (\w+)_trace_reader\(\) \{)"));
  for (const SourceFile& file : files) {
    INFO(file.path);
    const bool table_itself = file.path == "datasets/traces/trace_reader.cc";
    CHECK(names_in(file.text, R"((_trace_reader\(\) \{))").size() == (table_itself ? 0 : 1));
  }
  CHECK(trace_readers().size() == table.size());
  CHECK(all_different(sorted_names(trace_readers())));
  for (const TraceReader& reader : trace_readers()) {
    INFO(reader.name);
    CHECK_FALSE(reader.description.empty());
    CHECK((reader.sniff == nullptr) == (reader.read == nullptr));
    CHECK((reader.read == nullptr) != (reader.dialect == nullptr));
    CHECK(reader.folder.empty() == reader.folder_files.empty());
  }
}

TEST_CASE("Task-graph formats: every *_reader.cc is in the table, which gives each a name") {
  const auto files = source_files("graphs/taskgraph", ".*_reader\\.cc");
  const Names table =
      names_in(table_text("graphs/taskgraph/formats.inc"), R"(^DFSIM_TASK_GRAPH_FORMAT\((\w+)\)$)");
  CHECK(table == names_in(files, R"(^TaskGraphFormat (\w+)_format\(\) \{)"));
  CHECK(files.size() == table.size());
  CHECK(taskgraph::task_graph_formats().size() == table.size());
  CHECK(all_different(sorted_names(taskgraph::task_graph_formats())));
  for (const taskgraph::TaskGraphFormat& format : taskgraph::task_graph_formats()) {
    INFO(format.name);
    CHECK_FALSE(format.looks_like.empty());
    REQUIRE(format.sniff != nullptr);
    CHECK(format.read != nullptr);
    CHECK_FALSE(format.sniff("nothing that a task graph starts with"));
  }
}

TEST_CASE("Importers: every *_reader.cc of datasets/importers is in the table") {
  const auto files = source_files("datasets/importers", ".*\\.cc");
  const Names defined = names_in(files, R"(^std::unique_ptr<Importer> make_(\w+)_importer\(\) \{)");
  CHECK(names_in(table_text("datasets/importers/importers.inc"), R"(^DFSIM_IMPORTER\((\w+)\)$)") ==
        defined);
  Names names;
  for (const auto& importer : importers()) {
    names.emplace_back(importer->name());
  }
  CHECK(names.size() == defined.size());
  CHECK(all_different(names));
  for (const SourceFile& file : source_files("datasets/importers", ".*_reader\\.cc")) {
    INFO(file.path);
    CHECK(names_in(file.text, R"(^(std::unique_ptr<Importer> make_))").size() == 1);
  }
}

TEST_CASE(
    "Passes: the table has every function of graphs/passes that rewrites a graph on its own") {
  const Names table =
      names_in(table_text("graphs/passes/passes.inc"), R"(^DFSIM_PASS\("[a-z0-9-]+", (\w+),)");
  Names defined;
  for (const char* folder : {"graphs/passes/cleanup", "graphs/passes/einsum",
                             "graphs/passes/fusion", "graphs/passes/layout"}) {
    const Names here =
        names_in(source_files(folder, ".*\\.cc"), R"(^void (\w+)\(EditableGraph& graph\) \{)");
    defined.insert(defined.end(), here.begin(), here.end());
  }
  std::sort(defined.begin(), defined.end());
  CHECK(table == defined);
  CHECK(all_passes().size() == table.size());
  CHECK(std::is_sorted(all_passes().begin(), all_passes().end(),
                       [](const Pass& a, const Pass& b) { return a.name < b.name; }));
  for (const Pass& pass : all_passes()) {
    INFO(pass.name);
    CHECK(pass.run != nullptr);
    CHECK_FALSE(pass.description.empty());
  }
}

TEST_CASE("Operator families: every family file is in the table") {
  const Names table =
      names_in(table_text("graphs/ops/op_families.inc"), R"(^DFSIM_OP_FAMILY\((\w+)\)$)");
  CHECK(table ==
        names_in(source_files("graphs/ops/families", ".*\\.cc"), R"(^OpFamily (\w+)_op_defs\(\))"));
  size_t rows = 0;
  for (const SourceFile& file : source_files("graphs/ops/families", ".*\\.cc")) {
    rows += names_in(file.text, R"re(^    \{\.op_type = "(\w+)")re").size();
  }
  CHECK(rows == all_op_defs().size());
}

TEST_CASE("TensorFlow rules: every rules_*.cc is in the table") {
  const auto files = source_files("graphs/tensorflow/rules", "rules_.*\\.cc");
  CHECK(names_in(table_text("graphs/tensorflow/rules/rule_tables.inc"),
                 R"(^DFSIM_TF_RULES\((\w+)\)$)") ==
        names_in(files, R"(^std::span<const TfRule> (\w+)_tf_rules\(\))"));
  Names types;
  for (const SourceFile& file : files) {
    const Names here = names_in(file.text, R"re(^    \{\.type = "(\w+)")re");
    CHECK_FALSE(here.empty());
    types.insert(types.end(), here.begin(), here.end());
  }
  CHECK(all_different(types));
}

TEST_CASE("Strategies: each has a rule, and unknown names get the nearest one") {
  const Names defined =
      names_in(source_files("partition/plans", ".*\\.cc"),
               R"(^bool (\w+)\(const ParallelDegrees& [^)]*int64_t [^)]*int64_t [^)]*\) \{)");
  Names used = names_in(table_text("partition/plans/strategies.inc"),
                        R"(^DFSIM_STRATEGY\("[a-z-]+", (\w+),)");
  CHECK(used.size() == strategies().size());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  CHECK(used == defined);
  CHECK(all_different(strategy_names()));
  for (const Strategy& strategy : strategies()) {
    INFO(strategy.name);
    const bool any = !degrees_of(std::string(strategy.name), 8, 8, 64, 0).empty();
    CHECK((any || strategy.besides != Strategy::Besides::kNothing));
    CHECK(*find_strategy(strategy.name) == &strategy);
  }
  CHECK(find_strategy("hybird").status().message().find("'hybrid'") != std::string::npos);
}

TEST_CASE("Feature families: each has a name, features of its own and a recipe") {
  CHECK(names_in(table_text("opmodel/features/feature_families.inc"),
                 R"(^DFSIM_FEATURE_FAMILY\(k\w+, (\w+)\))") ==
        names_in(source_files("opmodel/features", ".*\\.cc"),
                 R"(^FeatureFamily (\w+)_family\(\) \{)"));
  Names names;
  for (int i = 0; i < kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    names.emplace_back(family_name(family));
    INFO(names.back());
    Family found = Family::kGeneric;
    CHECK(family_from_name(names.back(), &found));
    CHECK(found == family);
    for (const FeatureSet set : {FeatureSet::kOfCpus, FeatureSet::kOfGpus}) {
      CHECK(feature_names(family, set).size() > 10);
      CHECK(all_different(feature_names(family, set)));
    }
    CHECK(recipe_of(family, 0).rounds > 0);
  }
  CHECK(all_different(names));
}

TEST_CASE("Hardware files: every file loads by its name and cites its figures") {
  const auto check = [](const std::string& folder, Names builtin, const auto& load) {
    const auto files = source_files(folder, ".*\\.yaml");
    Names names;
    for (const SourceFile& file : files) {
      names.push_back(std::filesystem::path(file.path).stem().string());
      INFO(file.path);
      const auto loaded = load(names.back());
      INFO(loaded.status().message());
      CHECK(loaded.ok());
    }
    std::sort(names.begin(), names.end());
    std::sort(builtin.begin(), builtin.end());
    CHECK(names == builtin);
  };
  check("hardware/platforms", builtin_platforms(),
        [](const std::string& name) { return load_platform(name); });
  check("hardware/runtimes", builtin_runtimes(),
        [](const std::string& name) { return load_runtime(name); });
  for (const SourceFile& file : source_files("hardware/platforms", ".*\\.yaml")) {
    INFO(file.path);
    CHECK(names_in(file.text, R"(^(sources):)").size() == 1);
  }
}

}  // namespace
}  // namespace dfsim
