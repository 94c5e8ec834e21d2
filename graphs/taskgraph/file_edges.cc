#include "graphs/taskgraph/file_edges.h"

#include <algorithm>
#include <span>

namespace dfsim::inline graphs::taskgraph {

uint32_t FileEdges::file(std::string_view name) {
  const auto [entry, added] =
      ids_.try_emplace(std::string(name), static_cast<uint32_t>(bytes_.size()));
  if (added) {
    bytes_.push_back(0);
  }
  return entry->second;
}

void FileEdges::set_size(uint32_t file, Bytes bytes) {
  bytes_[file] = std::max(bytes_[file], bytes);
}

void FileEdges::assemble(Assembler& assembler) {
  for (std::vector<Pair>* pairs : {&outputs_, &inputs_, &dependencies_}) {
    std::sort(pairs->begin(), pairs->end());
    pairs->erase(std::unique(pairs->begin(), pairs->end()), pairs->end());
  }
  std::unordered_map<uint64_t, DataId> items;  // (task, file) -> its data item
  const auto key = [](uint32_t task, uint32_t file) { return uint64_t{task} << 32 | file; };
  // The pairs of a task, ascending by file.
  const auto range = [](const std::vector<Pair>& pairs, uint32_t task) {
    const auto begin = std::lower_bound(pairs.begin(), pairs.end(), Pair{task, 0});
    const auto end = std::upper_bound(begin, pairs.end(), Pair{task, UINT32_MAX});
    return std::span<const Pair>(begin, end);
  };
  for (const Pair& dependency : dependencies_) {
    const auto written = range(outputs_, dependency.first);
    const auto read = range(inputs_, dependency.second);
    bool any = false;
    auto input = read.begin();
    for (const Pair& output : written) {
      while (input != read.end() && input->second < output.second) {
        ++input;
      }
      if (input == read.end() || input->second != output.second) {
        continue;
      }
      const auto [item, added] = items.try_emplace(key(output.first, output.second));
      if (added) {
        item->second = assembler.add_data(TaskId(output.first), bytes_[output.second]);
      }
      assembler.add_edge(item->second, TaskId(dependency.second));
      any = true;
    }
    if (!any) {
      assembler.add_edge(TaskId(dependency.first), TaskId(dependency.second), 0);
    }
  }
}

}  // namespace dfsim::inline graphs::taskgraph
