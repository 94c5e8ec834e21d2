// Where the files of the MindSpore profiler are, and what their folders say about the network.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "datasets/importers/mindspore/mindspore_files.h"

namespace dfsim::inline datasets {

// One profiled device of one run.
struct MindsporeRun {
  MindsporeFileKind kind = MindsporeFileKind::kFramework;
  std::string framework_file;  // framework_raw_N.csv, or the file that has everything
  std::string detail_file;     // aicore_intermediate_N_detail.csv; "" where there is one file
  std::string network;         // from the folders, "" when they do not say; with "#N" where several
                               // runs of a folder have no batch size
  int32_t batch = 0;
};

// Network and batch size that a folder name says: "resnet50_bs32", "bert-batch_size-16",
// "vit_b_16_b8", "deepfm_1024" (a last number that is a power of two or a multiple of 1000), "bs32"
// or "32" (no network), "yolo" (no batch). Names of the profiler's own ("profiler", "device_0",
// "rank_1", "PROF_...") say nothing.
struct FolderMeaning {
  std::string network;
  int32_t batch = 0;
};
FolderMeaning read_folder_name(std::string_view name);

// The runs below a folder, sorted by path, or the one run that a file belongs to. Files may be
// named otherwise (after the network): their first line then says what they are. Files may be gzip
// (".csv.gz"). Errors: kNotFound; kInvalidInput: no such file below, or more than 10,000 runs or 16
// levels of folders, or a framework file whose detail file is missing.
StatusOr<std::vector<MindsporeRun>> find_mindspore_runs(const std::string& path);

}  // namespace dfsim::inline datasets
