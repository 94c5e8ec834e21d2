// Finds profiler output below a folder and reads network and batch size from folder names. Names
// are split into tokens and read from the innermost folder outwards, since the profiler adds
// folders of its own names. A lone last number counts as a batch size only where it looks like
// one: "resnet_50" is a network.
#include "datasets/importers/mindspore/mindspore_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/text.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFrameworkPrefix = "framework_raw_";
constexpr int kMaxDepth = 16;
constexpr size_t kMaxRuns = 10000;
constexpr int32_t kMaxBatch = 1 << 20;

struct Token {
  size_t begin = 0;
  std::string text;  // lower case
};

std::vector<Token> tokens_of(std::string_view name) {
  std::vector<Token> tokens;
  size_t begin = 0;
  for (size_t i = 0; i <= name.size(); ++i) {
    if (i == name.size() || std::string_view("_-.= ").find(name[i]) != std::string_view::npos) {
      if (i > begin) {
        tokens.push_back({begin, to_lower(name.substr(begin, i - begin))});
      }
      begin = i + 1;
    }
  }
  return tokens;
}

int32_t as_batch(std::string_view digits) {
  const auto value = parse_number<int32_t>(digits);
  return value.has_value() && *value > 0 && *value <= kMaxBatch ? *value : 0;
}

// The batch size that starts at token `i` ("bs32", "batch" "32", "batch" "size" "32"), or 0.
int32_t batch_at(const std::vector<Token>& tokens, size_t i) {
  for (const std::string_view word : {"batchsize", "batch", "bs", "bsz", "b"}) {
    const std::string& text = tokens[i].text;
    if (text.starts_with(word) && text.size() > word.size()) {
      if (const int32_t batch = as_batch(std::string_view(text).substr(word.size()))) {
        return batch;
      }
    }
    if (text == word && word != "b" && i + 1 < tokens.size()) {
      const bool size = tokens[i + 1].text == "size" && i + 2 < tokens.size();
      return as_batch(tokens[i + (size ? 2 : 1)].text);
    }
  }
  return 0;
}

// A last number on its own is a batch size where it looks like one: "deepfm_16000" and "bert_32",
// but not "resnet_50" or "vit_b_16".
int32_t lone_batch(const std::vector<Token>& tokens) {
  const int32_t batch = as_batch(tokens.back().text);
  const bool power_of_two = (batch & (batch - 1)) == 0;
  const bool part_of_name = tokens.size() > 1 && tokens[tokens.size() - 2].text.size() == 1;
  return (power_of_two || batch % 1000 == 0) && !part_of_name ? batch : 0;
}

bool profilers_own(std::string_view name) {
  constexpr std::array<std::string_view, 12> kNames = {
      "profiler", "profile", "profiling", "prof", "device", "rank",
      "data",     "output",  "ascend",    "host", "csv",    "result"};
  const std::vector<Token> tokens = tokens_of(name);
  return tokens.empty() || std::find(kNames.begin(), kNames.end(), tokens[0].text) != kNames.end();
}

// Fills network and batch from the innermost folder outwards.
void read_folders(const fs::path& folder, MindsporeRun* run) {
  fs::path rest = folder;
  for (int level = 0; level < 4 && (run->network.empty() || run->batch == 0); ++level) {
    const FolderMeaning meaning = read_folder_name(rest.filename().string());
    if (run->batch == 0 && (run->network.empty() || meaning.network.empty())) {
      run->batch = meaning.batch;
    }
    if (run->network.empty()) {
      run->network = meaning.network;
    } else if (!meaning.network.empty()) {
      return;  // a folder above the network's own speaks of something else
    }
    if (!rest.has_parent_path() || rest == rest.parent_path()) {
      return;
    }
    rest = rest.parent_path();
  }
}

// The N of "framework_raw_N.csv" or ".csv.gz"; "" for other names.
std::string run_number(std::string_view file_name) {
  if (file_name.ends_with(".gz")) {
    file_name.remove_suffix(3);
  }
  if (!file_name.starts_with(kFrameworkPrefix) || !file_name.ends_with(".csv")) {
    return "";
  }
  file_name.remove_prefix(kFrameworkPrefix.size());
  file_name.remove_suffix(4);
  return std::string(file_name);
}

StatusOr<MindsporeRun> run_of(const fs::path& framework_file) {
  MindsporeRun run;
  run.framework_file = framework_file.string();
  const fs::path folder = framework_file.parent_path();
  const std::string number = run_number(framework_file.filename().string());
  std::error_code error;
  for (const std::string_view ending : {".csv", ".csv.gz"}) {
    const fs::path detail = folder / fmt::format("aicore_intermediate_{}_detail{}", number, ending);
    if (fs::is_regular_file(detail, error)) {
      run.detail_file = detail.string();
    }
  }
  if (run.detail_file.empty()) {
    return invalid_input(
        fmt::format("{}: aicore_intermediate_{}_detail.csv is missing from the same directory",
                    run.framework_file, number));
  }
  if (number.find_first_not_of("0123456789") != std::string::npos) {
    const FolderMeaning meaning = read_folder_name(number);  // framework_raw_resnet50_bs32.csv
    run.network = meaning.network;
    run.batch = meaning.batch;
  }
  if (run.network.empty()) {
    read_folders(fs::absolute(folder, error).lexically_normal(), &run);
  }
  return run;
}

// Runs of one folder that says no batch size may be of different networks: each gets its number.
void tell_apart(std::vector<MindsporeRun>* runs) {
  std::map<std::pair<fs::path, std::string>, std::vector<MindsporeRun*>> by_folder;
  for (MindsporeRun& run : *runs) {
    if (run.batch == 0) {
      by_folder[{fs::path(run.framework_file).parent_path(), run.network}].push_back(&run);
    }
  }
  for (auto& [folder, together] : by_folder) {
    for (MindsporeRun* run : together) {
      const std::string name = fs::path(run->framework_file).filename().string();
      if (together.size() > 1) {
        run->network += '#';
        run->network += run_number(name);
      }
    }
  }
}

}  // namespace

FolderMeaning read_folder_name(std::string_view name) {
  FolderMeaning meaning;
  if (profilers_own(name)) {
    return meaning;
  }
  const std::vector<Token> tokens = tokens_of(name);
  size_t network_end = name.size();
  for (size_t i = tokens.size(); i-- > 0 && meaning.batch == 0;) {
    meaning.batch = batch_at(tokens, i);
    network_end = meaning.batch > 0 ? tokens[i].begin : name.size();
  }
  if (meaning.batch == 0) {
    meaning.batch = lone_batch(tokens);
    network_end = meaning.batch > 0 ? tokens.back().begin : name.size();
  }
  std::string_view network = name.substr(0, network_end);
  while (!network.empty() &&
         std::string_view("_-.= ").find(network.back()) != std::string_view::npos) {
    network.remove_suffix(1);
  }
  meaning.network = std::string(network);
  return meaning;
}

StatusOr<std::vector<MindsporeRun>> find_mindspore_runs(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> files;
  if (!fs::exists(path, error)) {
    return not_found(fmt::format("{}: no such file or folder; check the path", path));
  }
  if (!fs::is_directory(path, error)) {
    if (run_number(fs::path(path).filename().string()).empty()) {
      return invalid_input(fmt::format(
          "{}: expected a folder of the MindSpore profiler or its framework_raw_N.csv", path));
    }
    files.emplace_back(path);
  } else {
    fs::recursive_directory_iterator it(path, error);
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
      if (!run_number(it->path().filename().string()).empty()) {
        files.push_back(it->path());
      }
      if (files.size() > kMaxRuns || it.depth() > kMaxDepth) {
        return invalid_input(fmt::format("{}: too many runs or levels of folders below", path));
      }
    }
    if (files.empty()) {
      return invalid_input(fmt::format("{}: no framework_raw_N.csv below this folder", path));
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<MindsporeRun> runs;
  for (const fs::path& file : files) {
    DFSIM_ASSIGN_OR_RETURN(MindsporeRun run, run_of(file));
    runs.push_back(std::move(run));
  }
  tell_apart(&runs);
  return runs;
}

}  // namespace dfsim::inline datasets
