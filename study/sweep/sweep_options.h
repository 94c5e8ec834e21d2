// The options of a sweep: values of each setting, and how they are combined into points.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "study/chain/model_source.h"
#include "study/chain/training_choice.h"

namespace dfsim::inline study {

// One prediction of a sweep.
struct SweepPoint {
  std::string model;                                   // file
  std::string hardware;                                // file or name
  std::string runtime;                                 // file or name; "" = what the hardware names
  std::string precision;                               // name or file of rules; "" = the model's
  std::string mode = "infer";                          // or train
  std::string policy = "first-device";                 // that places operators on devices
  std::vector<std::pair<std::string, int64_t>> param;  // extents of dynamic dimensions, by name
  int64_t batch = 0;                                   // 0 = the model's own

  bool operator==(const SweepPoint&) const = default;
};

// Points share an imported graph when these are equal: model, batch, extents of dimensions.
// The last one is the precision where the import depends on it: of a config.json.
using SweepImport =
    std::tuple<std::string, int64_t, std::vector<std::pair<std::string, int64_t>>, std::string>;
SweepImport import_of(const SweepPoint& point);

// The values of each setting as a user writes them. An empty list is the setting's default alone.
struct SweepAxes {
  std::vector<std::string> models;    // files, or patterns with * and ? that stand for files
  std::vector<std::string> hardware;  // files or names
  std::vector<std::string> runtimes;
  std::vector<std::string> precisions;
  std::vector<std::string> modes;
  std::vector<std::string> policies;
  std::vector<std::string> params;   // "NAME=SERIES"
  std::vector<std::string> batches;  // series: see parse_series()
};

// One of several parts that processes, on one machine or many, predict each on its own.
struct SweepPart {
  size_t index = 0;  // from 0
  size_t count = 1;
};

struct SweepOptions {
  SweepAxes axes;
  std::string combine =
      "product";                   // every value with every other, or zip: the first with the first
  std::vector<SweepPoint> points;  // listed one by one; they come after those of the axes
  ModelOptions model;              // of all points; path, batch, precision come from the point
  TrainingChoice training;         // of points that train; `mode` comes from the point
  std::string cost_model;          // folder or name; "" = what each device names
  uint64_t seed = 0;               // of the policies
  size_t threads = 0;              // 0 = one per core
  SweepPart part;                  // predict these points only
  // Finished points are kept in this file, and those that it already has are not predicted again;
  // "" = none.
  std::string journal;
  // Version of the program. Points in the journal count only for the same one.
  std::string program = "dfsim";
};

}  // namespace dfsim::inline study
