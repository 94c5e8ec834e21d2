// FileEdges: turns recorded workflows (tasks that read and write named files, plus parent-child
// relations) into data items and edges. Shared by the WfFormat and DAX readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graphs/taskgraph/assembler.h"

namespace dfsim::inline graphs::taskgraph {

class FileEdges {
 public:
  // Numbers of named files, in order of first mention.
  uint32_t file(std::string_view name);
  // Raises the size of a file (mentions without a size leave it).
  void set_size(uint32_t file, Bytes bytes);
  void add_output(uint32_t task, uint32_t file) { outputs_.push_back({task, file}); }
  void add_input(uint32_t task, uint32_t file) { inputs_.push_back({task, file}); }
  void add_dependency(uint32_t parent, uint32_t child) { dependencies_.push_back({parent, child}); }

  // Each declared dependency becomes one edge per file that the parent writes and the child reads,
  // or one edge without data when there is none. A file is one data item per writer.
  void assemble(Assembler& assembler);

 private:
  struct Pair {
    uint32_t first;
    uint32_t second;
    auto operator<=>(const Pair&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<Bytes> bytes_;
  std::vector<Pair> outputs_;       // task, file
  std::vector<Pair> inputs_;        // task, file
  std::vector<Pair> dependencies_;  // parent, child
};

}  // namespace dfsim::inline graphs::taskgraph
