// What the tests of studies share: models that ship, folders that go away, and a Progress that is
// listened to.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/io/data_dir.h"
#include "base/io/file.h"
#include "base/status.h"
#include "study/chain/model_source.h"
#include "study/progress.h"

namespace dfsim::testing {

inline ModelOptions zoo_model(const std::string& name) {
  const auto path = find_data_file("graphs/zoo/" + name + ".onnx");
  REQUIRE(path.ok());
  ModelOptions model;
  model.path = *path;
  return model;
}

// An empty folder that is removed at the end.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("dfsim_study_" + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name, const std::string& content) const {
    const std::string path = (path_ / name).string();
    REQUIRE(write_file(path, content).ok());
    return path;
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Keeps the stages and notes of a study, and cancels it at the first stage that begins so.
class Listener {
 public:
  explicit Listener(std::string cancel_at = "\n") : cancel_at_(std::move(cancel_at)) {}

  Progress progress() {
    Progress progress;
    progress.on_stage = [this](const std::string& step) {
      stages.push_back(step);
      return step.starts_with(cancel_at_) ? failed("cancelled at: " + step) : ok_status();
    };
    progress.on_note = [this](const std::string& line) { notes.push_back(line); };
    return progress;
  }

  std::vector<std::string> stages;
  std::vector<std::string> notes;

 private:
  std::string cancel_at_;
};

}  // namespace dfsim::testing
