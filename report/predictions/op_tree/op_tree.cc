// The tree has a node for each component of the operators' names. Siblings that differ in a number
// and hold the same work are one: repeated layers have one row.
#include "report/predictions/op_tree/op_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/counted.h"
#include "base/text.h"
#include "report/predictions/op_tree/alike_names.h"

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
  std::vector<const PredictedOp*> ops;  // with just this name
  size_t parent = 0;
  char separator = '/';
  size_t kind = 0;                            // nodes of one kind hold the same work
  std::vector<std::string_view> alike;        // siblings that it stands for, itself first
  bool is_counted = true;                     // false: a sibling stands for it
  size_t copies = 1;                          // of the work below it that its rows count
  std::vector<const PredictedOp*> shown_ops;  // chosen ones
  bool is_shown = false;                      // something at or below it is
  size_t held = 0;                            // operators at and below it
  TimeNs time_ns = 0;
};

class OpTree {
 public:
  OpTree(const std::vector<PredictedOp>& ops, bool modules) : modules_(modules), nodes_(1) {
    for (const PredictedOp& op : ops) {
      add(op);
    }
    // Children come after their parents.
    for (size_t n = nodes_.size(); n-- > 0;) {
      find_kind(n);
      for (const auto& [part, child] : nodes_[n].children) {
        nodes_[n].held += nodes_[child].held;
        nodes_[n].time_ns += nodes_[child].time_ns;
      }
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      join_alike(n);
    }
  }

  // Shows the `count` operators, or groups of alike ones, that take longest.
  void choose(size_t count) {
    std::vector<std::pair<const PredictedOp*, size_t>> candidates;
    for (const auto& [op, node] : node_of_) {
      if (nodes_[node].is_counted) {
        candidates.emplace_back(op, node);
      }
    }
    std::ranges::stable_sort(candidates, [&](const auto& a, const auto& b) {
      return time_of(*a.first, a.second) > time_of(*b.first, b.second);
    });
    candidates.resize(std::min(count, candidates.size()));
    for (const auto& [op, node] : candidates) {
      nodes_[node].shown_ops.push_back(op);
      for (size_t n = node; !nodes_[n].is_shown; n = nodes_[n].parent) {
        nodes_[n].is_shown = true;
      }
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

  void add(const PredictedOp& op) {
    size_t node = 0;
    for (const std::string_view part : parts_of(op.name)) {
      const auto [child, is_new] = nodes_[node].children.try_emplace(part, nodes_.size());
      const size_t next = child->second;
      if (is_new) {
        nodes_.emplace_back().separator = separator_of(op.name);
        nodes_[next].parent = node;
        nodes_[next].alike = {part};
      }
      node = next;
    }
    nodes_[node].ops.push_back(&op);
    nodes_[node].held += 1;
    nodes_[node].time_ns += op.duration_ns;
    node_of_.emplace_back(&op, node);
  }

  // Numbers the kinds: the names and kinds of children, and what the operators are and take.
  void find_kind(size_t node) {
    std::string text;
    for (const auto& [part, child] : nodes_[node].children) {
      text += fmt::format("{}\n{}\n", part, nodes_[child].kind);
    }
    for (const PredictedOp* op : nodes_[node].ops) {
      text += fmt::format("={} {} {} {} {} {} {}", op->op_type, op->shape, op->duration_ns,
                          op->flops, op->origins.size(), static_cast<int>(op->bound),
                          static_cast<int>(op->source));
    }
    nodes_[node].kind = kinds_.try_emplace(std::move(text), kinds_.size()).first->second;
  }

  // Lets one of each group of alike children stand for the others; parents come first.
  void join_alike(size_t node) {
    std::vector<NamedKind> names;
    std::vector<size_t> children;
    for (const auto& [part, child] : nodes_[node].children) {
      names.push_back({part, nodes_[child].kind});
      children.push_back(child);
    }
    for (const std::vector<size_t>& group : alike_names(names)) {
      const size_t first =
          *std::ranges::min_element(group, {}, [&](size_t member) { return children[member]; });
      TreeNode& kept = nodes_[children[first]];
      kept.alike.clear();
      for (const size_t member : group) {
        nodes_[children[member]].is_counted = member == first && nodes_[node].is_counted;
        kept.alike.push_back(names[member].name);
      }
      kept.copies = group.size() * nodes_[node].copies;
    }
  }

  TimeNs time_of(const PredictedOp& op, size_t node) const {
    return op.duration_ns * static_cast<TimeNs>(nodes_[node].copies);
  }

  // The subject of one row, or of one row with rows below it.
  struct Entry {
    std::string path;
    size_t node = 0;
    const PredictedOp* op = nullptr;  // null for a module
    TimeNs time_ns = 0;
    TimeNs start_ns = 0;
  };

  // When the first of the chosen operators at and below the node starts.
  TimeNs start_of(size_t node) const {
    TimeNs start = std::numeric_limits<TimeNs>::max();
    for (const PredictedOp* op : nodes_[node].shown_ops) {
      start = std::min(start, op->start_ns);
    }
    for (const size_t child : shown_children(node)) {
      start = std::min(start, start_of(child));
    }
    return start;
  }

  std::vector<size_t> shown_children(size_t node) const {
    std::vector<size_t> shown;
    for (const auto& [part, child] : nodes_[node].children) {
      if (nodes_[child].is_shown) {
        shown.push_back(child);
      }
    }
    return shown;
  }

  // The entries of the level below `node`. A child without a fork is joined with its own child.
  std::vector<Entry> entries(size_t node) const {
    std::vector<Entry> found;
    for (const size_t child : shown_children(node)) {
      std::string path = alike_label(nodes_[child].alike);
      size_t at = child;
      std::vector<size_t> below = shown_children(at);
      std::optional<std::pair<std::string, size_t>> layers;  // repeated modules have a row
      while (nodes_[at].shown_ops.empty() && below.size() == 1) {
        if (nodes_[at].alike.size() > 1 && !layers) {
          layers.emplace(path, at);
        }
        path += nodes_[at].separator;
        at = below.front();
        path += alike_label(nodes_[at].alike);
        below = shown_children(at);
      }
      if (layers && !below.empty()) {
        std::tie(path, at) = *layers;
      }
      if (below.empty()) {
        for (const PredictedOp* op : nodes_[at].shown_ops) {
          found.push_back({path, at, op, time_of(*op, at), op->start_ns});
        }
      } else {
        found.push_back({path, at, nullptr,
                         nodes_[at].time_ns * static_cast<TimeNs>(nodes_[at].copies),
                         start_of(at)});
      }
    }
    for (const PredictedOp* op : nodes_[node].shown_ops) {
      const std::vector<std::string_view>& alike = nodes_[node].alike;
      found.push_back({alike.empty() ? std::string() : alike_label(alike), node, op,
                       time_of(*op, node), op->start_ns});
    }
    std::ranges::stable_sort(found, [](const Entry& a, const Entry& b) {
      return std::tuple(-a.time_ns, a.start_ns, std::string_view(a.path)) <
             std::tuple(-b.time_ns, b.start_ns, std::string_view(b.path));
    });
    return found;
  }

  // "layer.{0..11} (12 alike, 204 operators)".
  std::string module_label(const Entry& entry) const {
    const TreeNode& node = nodes_[entry.node];
    const size_t alike = node.alike.size();
    return fmt::format("{} ({}{})", printable(entry.path, kMostNameChars),
                       alike > 1 ? fmt::format("{} alike, ", alike) : "",
                       counted(node.held * node.copies, "operator"));
  }

  void add_level(size_t node, size_t depth) {
    for (const Entry& entry : entries(node)) {
      const size_t copies = nodes_[entry.node].copies;
      if (entry.op != nullptr) {
        const std::string times = copies > 1 ? fmt::format(" ({}x)", copies) : "";
        rows_.push_back(
            {depth, op_label(*entry.op, entry.path) + times, entry.op, copies, entry.time_ns});
        continue;
      }
      rows_.push_back(
          {depth, module_label(entry), nullptr, nodes_[entry.node].held * copies, entry.time_ns});
      add_level(entry.node, depth + 1);
    }
  }

  const bool modules_;
  std::vector<TreeNode> nodes_;
  std::vector<std::pair<const PredictedOp*, size_t>> node_of_;
  std::map<std::string, size_t> kinds_;
  std::vector<OpTreeRow> rows_;
};

}  // namespace

std::vector<OpTreeRow> op_tree(const std::vector<PredictedOp>& ops, size_t count, bool modules) {
  OpTree tree(ops, modules);
  tree.choose(count);
  return tree.rows();
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
