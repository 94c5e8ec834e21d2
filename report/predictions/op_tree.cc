// The tree has a node for each component of the chosen operators' names. A second pass over all
// operators adds their time to the nodes above them.
#include "report/predictions/op_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/counted.h"
#include "base/text.h"

namespace dfsim::inline report {
namespace {

constexpr size_t kMostComponents = 64;  // deeper paths end in one component
constexpr size_t kMostNameChars = 1000;

char separator_of(std::string_view name) {
  return name.find('/') != std::string_view::npos ? '/' : '.';
}

std::vector<std::string_view> components(std::string_view name) {
  const char separator = separator_of(name);
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    const size_t end = parts.size() + 1 < kMostComponents ? name.find(separator) : name.npos;
    const std::string_view part = name.substr(0, end);
    if (!part.empty()) {
      parts.push_back(part);
    }
    name = end == name.npos ? std::string_view() : name.substr(end + 1);
  }
  return parts;
}

// The label of a row: with the type of the operator where neither its name nor what it was fused
// from tells it.
std::string op_label(const PredictedOp& op, const std::string& path) {
  const std::string label = fused_label(op, path);
  return op.origins.size() > 1 || to_lower(label).find(to_lower(op.op_type)) != std::string::npos
             ? label
             : fmt::format("{} ({})", label, printable(op.op_type, 40));
}

struct TreeNode {
  std::map<std::string_view, size_t> children;
  std::vector<const PredictedOp*> ops;  // chosen ones with just this name
  char separator = '/';
  size_t held = 0;  // operators at and below it, of all
  TimeNs time_ns = 0;
};

class OpTree {
 public:
  OpTree(const std::vector<PredictedOp>& ops, const std::vector<const PredictedOp*>& chosen,
         bool modules)
      : modules_(modules), nodes_(1) {
    for (const PredictedOp* op : chosen) {
      size_t node = 0;
      for (const std::string_view part : parts_of(op->name)) {
        const auto [child, is_new] = nodes_[node].children.try_emplace(part, nodes_.size());
        const size_t next = child->second;
        if (is_new) {
          nodes_.emplace_back().separator = separator_of(op->name);
        }
        node = next;
      }
      nodes_[node].ops.push_back(op);
    }
    for (const PredictedOp& op : ops) {
      count(op);
    }
  }

  std::vector<OpTreeRow> rows() {
    add_level(0, 0);
    TimeNs shown_ns = 0;
    size_t shown = 0;
    for (const OpTreeRow& row : rows_) {
      shown_ns += row.depth == 0 ? row.time_ns : 0;
      shown += row.depth == 0 ? row.ops : 0;
    }
    if (shown < nodes_[0].held) {
      const size_t rest = nodes_[0].held - shown;
      rows_.push_back({0, fmt::format("{} other operator{}", rest, rest == 1 ? "" : "s"), nullptr,
                       rest, nodes_[0].time_ns - shown_ns});
    }
    return std::move(rows_);
  }

 private:
  std::vector<std::string_view> parts_of(const std::string& name) const {
    return modules_ ? components(name) : std::vector<std::string_view>{name};
  }

  void count(const PredictedOp& op) {
    size_t node = 0;
    const auto add = [&] {
      ++nodes_[node].held;
      nodes_[node].time_ns += op.duration_ns;
    };
    add();
    for (const std::string_view part : parts_of(op.name)) {
      const auto child = nodes_[node].children.find(part);
      if (child == nodes_[node].children.end()) {
        return;
      }
      node = child->second;
      add();
    }
  }

  // The subject of one row, or of one row with rows below it.
  struct Entry {
    std::string path;
    size_t module = 0;  // 0 for an operator
    const PredictedOp* op = nullptr;
    TimeNs time_ns = 0;
    TimeNs start_ns = 0;
  };

  // When the first of the chosen operators at and below the node starts.
  TimeNs start_of(size_t node) const {
    TimeNs start = std::numeric_limits<TimeNs>::max();
    for (const PredictedOp* op : nodes_[node].ops) {
      start = std::min(start, op->start_ns);
    }
    for (const auto& [part, child] : nodes_[node].children) {
      start = std::min(start, start_of(child));
    }
    return start;
  }

  // The entries of the level below `node`. A child without a fork is joined with its own child.
  std::vector<Entry> entries(size_t node) const {
    std::vector<Entry> found;
    for (const auto& [part, child] : nodes_[node].children) {
      std::string path(part);
      size_t at = child;
      while (nodes_[at].ops.empty() && nodes_[at].children.size() == 1) {
        const auto& [next_part, next] = *nodes_[at].children.begin();
        path += nodes_[at].separator;
        path += next_part;
        at = next;
      }
      if (nodes_[at].children.empty()) {
        for (const PredictedOp* op : nodes_[at].ops) {
          found.push_back({path, 0, op, op->duration_ns, op->start_ns});
        }
      } else {
        found.push_back({path, at, nullptr, nodes_[at].time_ns, start_of(at)});
      }
    }
    for (const PredictedOp* op : nodes_[node].ops) {
      const std::vector<std::string_view> parts = parts_of(op->name);
      found.push_back({parts.empty() ? std::string() : std::string(parts.back()), 0, op,
                       op->duration_ns, op->start_ns});
    }
    std::ranges::stable_sort(found, [](const Entry& a, const Entry& b) {
      return std::tuple(-a.time_ns, a.start_ns, std::string_view(a.path)) <
             std::tuple(-b.time_ns, b.start_ns, std::string_view(b.path));
    });
    return found;
  }

  void add_level(size_t node, size_t depth) {
    for (const Entry& entry : entries(node)) {
      if (entry.op != nullptr) {
        rows_.push_back({depth, op_label(*entry.op, entry.path), entry.op, 1, entry.time_ns});
        continue;
      }
      const size_t held = nodes_[entry.module].held;
      rows_.push_back(
          {depth,
           fmt::format("{} ({})", printable(entry.path, kMostNameChars), counted(held, "operator")),
           nullptr, held, entry.time_ns});
      add_level(entry.module, depth + 1);
    }
  }

  const bool modules_;
  std::vector<TreeNode> nodes_;
  std::vector<OpTreeRow> rows_;
};

}  // namespace

std::vector<OpTreeRow> op_tree(const std::vector<PredictedOp>& ops, size_t count, bool modules) {
  std::vector<const PredictedOp*> chosen;
  chosen.reserve(ops.size());
  for (const PredictedOp& op : ops) {
    chosen.push_back(&op);
  }
  std::ranges::stable_sort(chosen, [](const PredictedOp* a, const PredictedOp* b) {
    return a->duration_ns > b->duration_ns;
  });
  chosen.resize(std::min(count, chosen.size()));
  return OpTree(ops, chosen, modules).rows();
}

std::string fused_label(const PredictedOp& op, const std::string& path) {
  constexpr size_t kMostListed = 4;
  std::string text = printable(path, kMostNameChars);
  for (size_t i = 1; i < std::min(kMostListed, op.origins.size()); ++i) {
    text += " + " + printable(op.origins[i].op_type, 30);
  }
  if (op.origins.size() > kMostListed) {
    text += fmt::format(" + {} more", op.origins.size() - kMostListed);
  }
  return text;
}

}  // namespace dfsim::inline report
