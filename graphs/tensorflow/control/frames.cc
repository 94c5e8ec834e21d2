// Control flow of TensorFlow 1: loops (Enter, Merge, Switch, NextIteration, Exit) and branches
// (Switch, Merge).
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "base/text.h"
#include "graphs/tensorflow/node_graph_internal.h"

namespace dfsim::inline graphs {
namespace {

bool is_any(const std::string& op, std::string_view name, std::string_view reference) {
  return op == name || op == reference;
}

// A boolean that the file fixes: a Const of one element.
std::optional<bool> constant_bool(const tf::NodeDef& node) {
  const tf::AttrValue* value = node.op() == "Const" ? find_attribute(node, "value") : nullptr;
  if (value == nullptr || value->tensor().dtype() != tf::DT_BOOL ||
      value->tensor().tensor_shape().dim_size() != 0) {
    return std::nullopt;
  }
  const tf::TensorProto& tensor = value->tensor();
  if (tensor.bool_val_size() > 0) {
    return tensor.bool_val(0);
  }
  return !tensor.tensor_content().empty() && tensor.tensor_content()[0] != 0;
}

}  // namespace

const LoopFrame* NodeGraph::frame_of_exit(int32_t index) const {
  const auto it = frame_of_exit_.find(index);
  return it != frame_of_exit_.end() ? &frames_[it->second] : nullptr;
}

const LoopFrame* NodeGraph::frame_of_merge(int32_t index) const {
  const auto it = frame_of_merge_.find(index);
  return it != frame_of_merge_.end() ? &frames_[it->second] : nullptr;
}

Status NodeGraph::find_frames() {
  std::unordered_map<std::string, size_t> by_frame_name;
  std::unordered_map<int32_t, size_t> frame_of_enter;
  const auto error = [&](size_t i, const std::string& message) {
    return invalid_input(fmt::format("{} '{}': {}", printable(nodes_[i].def->op(), 40),
                                     printable(nodes_[i].def->name()), message));
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!is_any(nodes_[i].def->op(), "Enter", "RefEnter")) {
      continue;
    }
    const tf::AttrValue* name = find_attribute(*nodes_[i].def, "frame_name");
    if (name == nullptr || nodes_[i].inputs.empty()) {
      return error(i, "expected an input and the attribute frame_name");
    }
    const auto [it, inserted] = by_frame_name.try_emplace(name->s(), frames_.size());
    if (inserted) {
      frames_.emplace_back().name = name->s();
    }
    frame_of_enter.emplace(static_cast<int32_t>(i), it->second);
  }
  if (frames_.empty()) {
    return ok_status();
  }
  std::unordered_set<int32_t> varying;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const TfNode& merge = nodes_[i];
    if (!is_any(merge.def->op(), "Merge", "RefMerge") || merge.inputs.size() != 2) {
      continue;
    }
    for (size_t side = 0; side < 2; ++side) {
      const Source enter = merge.inputs[side];
      const Source next = merge.inputs[1 - side];
      const auto it = frame_of_enter.find(enter.node);
      if (it != frame_of_enter.end() && !next.is_argument() &&
          is_any(op(next.node), "NextIteration", "RefNextIteration") &&
          !node(next.node).inputs.empty()) {
        LoopFrame& frame = frames_[it->second];
        frame.enters.push_back(enter.node);
        frame.merges.push_back(static_cast<int32_t>(i));
        frame.next_iterations.push_back(next.node);
        frame_of_merge_.emplace(static_cast<int32_t>(i), it->second);
        varying.insert(enter.node);
        break;
      }
    }
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto enter = frame_of_enter.find(static_cast<int32_t>(i));
    if (enter != frame_of_enter.end() && !varying.contains(enter->first)) {
      frames_[enter->second].constant_enters.push_back(enter->first);
    }
    if (!is_any(nodes_[i].def->op(), "Exit", "RefExit")) {
      continue;
    }
    // Exit reads Switch, which reads a Merge of the frame and its LoopCond.
    const Source at = nodes_[i].inputs.empty() ? Source() : nodes_[i].inputs[0];
    if (at.is_argument() || node(at.node).inputs.size() < 2) {
      return error(i, "does not read a Switch of its loop");
    }
    const TfNode& branch = node(at.node);
    const auto merge = frame_of_merge_.find(branch.inputs[0].node);
    if (merge == frame_of_merge_.end() || branch.inputs[1].is_argument()) {
      return error(i, "does not leave a variable of its loop");
    }
    frames_[merge->second].condition = branch.inputs[1].node;
    frame_of_exit_.emplace(static_cast<int32_t>(i), merge->second);
  }
  return ok_status();
}

int NodeGraph::merge_choice(int32_t merge, std::optional<bool> branch, bool* certain) const {
  constexpr size_t kMostVisited = 2000;
  constexpr size_t kMostInputs = 16;
  const TfNode& at = node(merge);
  *certain = at.inputs.size() < 2;
  size_t larger = 0;
  int choice = 0;
  for (size_t i = 0; i < std::min(at.inputs.size(), kMostInputs); ++i) {
    // Breadth first to the Switch that this input hangs on, by data or by control.
    std::deque<int32_t> queue;
    std::unordered_set<int32_t> seen;
    const auto visit = [&](int32_t next) {
      if (next >= 0 && seen.size() < kMostVisited && seen.insert(next).second) {
        queue.push_back(next);
      }
    };
    visit(at.inputs[i].node);
    std::optional<bool> side;
    if (!at.inputs[i].is_argument() && op(at.inputs[i].node) == "Switch") {
      side = at.inputs[i].output == 1;
    }
    std::optional<bool> known;
    while (!queue.empty()) {
      const TfNode& current = node(queue.front());
      const bool is_switch = current.def->op() == "Switch" && current.inputs.size() == 2;
      queue.pop_front();
      if (is_switch) {
        const Source predicate = skip_identities(current.inputs[1]);
        if (!known && !predicate.is_argument()) {
          known = constant_bool(*node(predicate.node).def);
        }
        continue;
      }
      for (const Source source : current.inputs) {
        if (!side && !source.is_argument() && op(source.node) == "Switch") {
          side = source.output == 1;
        }
        visit(source.node);
      }
      for (const int32_t control : current.controls) {
        // "switch_t" and "switch_f" are identities of the two outputs of a Switch.
        visit(control);
      }
    }
    const std::optional<bool> wanted = known ? known : branch;
    if (wanted && side && *wanted == *side) {
      *certain = true;
      return static_cast<int>(i);
    }
    if (seen.size() > larger) {
      larger = seen.size();
      choice = static_cast<int>(i);
    }
  }
  return choice;
}

}  // namespace dfsim::inline graphs
