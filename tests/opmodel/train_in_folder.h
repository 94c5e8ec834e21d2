// Training into a folder that is gone at the end of a test.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <utility>

#include "opmodel/train/training.h"

namespace dfsim {

// A folder of its own that is gone at the end.
class TempFolder {
 public:
  TempFolder() {
    static int next = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("dfsim_training_test_" + std::to_string(::getpid()) + "_" + std::to_string(next++));
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline TrainOptions fast_options() {
  TrainOptions options;
  options.threads = 1;
  options.max_rounds = 120;
  return options;
}

inline TrainReport train(const Profile& profile, const std::string& directory,
                         const TrainOptions& options = fast_options()) {
  auto report = train_model(profile, options, directory, {});
  INFO(report.status().message());
  REQUIRE(report.ok());
  return std::move(report).value();
}

}  // namespace dfsim
