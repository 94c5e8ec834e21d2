// Trees as files, for a test in Python.
//
// usage: tree_tool export TREES OUT       writes XGBoost's layout
//        tree_tool predict TREES ROWS OUT predicts rows of floats (native order, one after the
//        other)
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "opmodel/trees/forest.h"
#include "opmodel/trees/tree_file.h"

namespace dfsim {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;

int fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}

int export_trees(const std::string& from, const std::string& to) {
  const auto bytes = read_file(from, kMaxBytes);
  if (!bytes.ok()) {
    return fail(bytes.status());
  }
  const auto trees = read_trees(*bytes, from);
  if (!trees.ok()) {
    return fail(trees.status());
  }
  const Status written = write_file(to, xgboost_trees(*trees));
  return written.ok() ? 0 : fail(written);
}

int predict_rows(const std::string& from, const std::string& rows, const std::string& to) {
  const auto bytes = read_file(from, kMaxBytes);
  const auto values = read_file(rows, kMaxBytes);
  if (!bytes.ok() || !values.ok()) {
    return fail(bytes.ok() ? values.status() : bytes.status());
  }
  const auto forest = Forest::parse(*bytes, from);
  if (!forest.ok()) {
    return fail(forest.status());
  }
  std::vector<float> cells(values->size() / sizeof(float));
  std::memcpy(cells.data(), values->data(), cells.size() * sizeof(float));
  std::vector<float> out(cells.size() / forest->columns());
  forest->predict(std::span(cells).first(out.size() * forest->columns()), out);
  const std::string text(reinterpret_cast<const char*>(out.data()), out.size() * sizeof(float));
  const Status written = write_file(to, text);
  return written.ok() ? 0 : fail(written);
}

}  // namespace
}  // namespace dfsim

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 3 && words[0] == "export") {
    return dfsim::export_trees(words[1], words[2]);
  }
  if (words.size() == 4 && words[0] == "predict") {
    return dfsim::predict_rows(words[1], words[2], words[3]);
  }
  std::fprintf(stderr, "usage: tree_tool export TREES OUT | predict TREES ROWS OUT\n");
  return 2;
}
