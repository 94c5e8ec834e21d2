// A hand-written lexer and a recursive-descent parser for the part of DOT that describes graphs.
// The depth of subgraphs is limited, because the parser recurses.
#include <fmt/format.h>

#include <cctype>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "graphs/taskgraph/assembler.h"
#include "graphs/taskgraph/readers.h"

namespace dfsim::inline graphs::taskgraph {
namespace {

constexpr int kMaxNesting = 64;  // of subgraphs
constexpr size_t kMaxTokenBytes = size_t{1} << 20;

// The part of the DOT language that describes graphs: node, edge and attribute statements, chains
// of edges, and subgraphs (whose statements count as if they stood outside).
class DotReader {
 public:
  explicit DotReader(CharSource source) : source_(std::move(source)) {}

  StatusOr<TaskGraph> read();

 private:
  enum class Kind { kEnd, kId, kArrow, kLine, kPunctuation };
  struct Token {
    Kind kind = Kind::kEnd;
    std::string text;
    bool quoted = false;
    size_t line = 1;
  };
  struct Node {
    std::string name;
    std::optional<TimeNs> time;
    size_t line;
  };
  struct Arc {
    uint32_t from;
    uint32_t to;
    TimeNs delay;
  };

  Status next();
  Status skip_blanks_and_comments();
  Status read_quoted(char close);
  bool is(char punctuation) const {
    return token_.kind == Kind::kPunctuation && token_.text[0] == punctuation;
  }
  bool is_word(std::string_view word) const {
    return token_.kind == Kind::kId && !token_.quoted && to_lower(token_.text) == word;
  }
  Status unexpected(std::string_view expected) const;
  Status read_statements(int depth);
  Status read_statement(int depth);
  Status read_node_or_edge();
  // One node with its port, appended to `chain`.
  Status read_node(std::vector<uint32_t>& chain);
  // Reads `[...]` lists, if any, and returns the last Weight in them.
  StatusOr<std::optional<TimeNs>> read_weight();
  uint32_t node_id(const std::string& name);
  StatusOr<TaskGraph> assemble();

  CharSource source_;
  Token token_;
  std::string name_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<Arc> arcs_;
  std::optional<TimeNs> default_node_;
  TimeNs default_edge_ = 0;
};

Status DotReader::skip_blanks_and_comments() {
  while (true) {
    const int c = source_.peek();
    if (c == CharSource::kEnd || (c != '/' && c != '#' && std::isspace(c) == 0)) {
      return ok_status();
    }
    source_.get();
    if (c == '#' || (c == '/' && source_.peek() == '/')) {
      while (source_.peek() != '\n' && source_.peek() != CharSource::kEnd) {
        source_.get();
      }
    } else if (c == '/') {
      const size_t start = source_.line();
      if (source_.get() != '*') {
        return source_.error_at(start, "found '/', expected a comment (// or /* */)");
      }
      int last = 0;
      while (true) {
        const int d = source_.get();
        if (d == CharSource::kEnd) {
          return source_.error_at(start, "the comment that starts here never ends");
        }
        if (last == '*' && d == '/') {
          break;
        }
        last = d;
      }
    }
  }
}

Status DotReader::read_quoted(char close) {
  int depth = 1;
  while (true) {
    const int c = source_.get();
    if (c == CharSource::kEnd || token_.text.size() > kMaxTokenBytes) {
      return source_.error_at(token_.line, "the quoted text that starts here never ends");
    }
    if (close == '>') {
      depth += c == '<' ? 1 : c == '>' ? -1 : 0;
      if (depth == 0) {
        return ok_status();
      }
    } else if (c == close) {
      return ok_status();
    } else if (c == '\\' && source_.peek() == '"') {
      token_.text += static_cast<char>(source_.get());
      continue;
    }
    token_.text += static_cast<char>(c);
  }
}

Status DotReader::next() {
  DFSIM_RETURN_IF_ERROR(skip_blanks_and_comments());
  token_ = Token();
  token_.line = source_.line();
  const int c = source_.get();
  if (c == CharSource::kEnd) {
    return ok_status();
  }
  if (c == '"' || c == '<') {
    token_.kind = Kind::kId;
    token_.quoted = true;
    return read_quoted(c == '"' ? '"' : '>');
  }
  if (c == '-' && (source_.peek() == '>' || source_.peek() == '-')) {
    token_.kind = source_.get() == '>' ? Kind::kArrow : Kind::kLine;
    token_.text = token_.kind == Kind::kArrow ? "->" : "--";
    return ok_status();
  }
  const auto in_word = [](int d) {
    return std::isalnum(d) != 0 || d == '_' || d == '.' || d >= 0x80;
  };
  token_.text += static_cast<char>(c);
  if (!in_word(c) && c != '-' && c != '+') {
    token_.kind = Kind::kPunctuation;
    return ok_status();
  }
  token_.kind = Kind::kId;
  while (in_word(source_.peek()) && token_.text.size() <= kMaxTokenBytes) {
    const int d = source_.get();
    token_.text += static_cast<char>(d);
    const bool exponent = (d == 'e' || d == 'E') &&
                          std::isdigit(static_cast<unsigned char>(token_.text.front())) != 0;
    if (exponent && (source_.peek() == '-' || source_.peek() == '+')) {
      token_.text += static_cast<char>(source_.get());
    }
  }
  return ok_status();
}

Status DotReader::unexpected(std::string_view expected) const {
  return source_.error_at(
      token_.line,
      token_.kind == Kind::kEnd
          ? fmt::format("the file ends where {} is expected", expected)
          : fmt::format("found '{}', expected {}", printable(token_.text, 40), expected));
}

uint32_t DotReader::node_id(const std::string& name) {
  const auto [entry, added] = ids_.try_emplace(name, static_cast<uint32_t>(nodes_.size()));
  if (added) {
    nodes_.push_back({name, default_node_, token_.line});
  }
  return entry->second;
}

StatusOr<std::optional<TimeNs>> DotReader::read_weight() {
  std::optional<TimeNs> weight;
  while (is('[')) {
    DFSIM_RETURN_IF_ERROR(next());
    while (!is(']')) {
      if (token_.kind != Kind::kId) {
        return unexpected("an attribute name or ']'");
      }
      const bool is_weight = to_lower(token_.text) == "weight";
      DFSIM_RETURN_IF_ERROR(next());
      if (is('=')) {
        DFSIM_RETURN_IF_ERROR(next());
        if (token_.kind != Kind::kId) {
          return unexpected("the attribute's value");
        }
        if (is_weight) {
          const auto value = parse_number(token_.text);
          if (!value.has_value()) {
            return unexpected("a number as Weight");
          }
          const auto ns = checked_ns(*value, static_cast<double>(kNsPerFileUnit), "the Weight");
          if (!ns.ok()) {
            return source_.error_at(token_.line, ns.status().message());
          }
          weight = *ns;
        }
        DFSIM_RETURN_IF_ERROR(next());
      } else if (is_weight) {
        return unexpected("'=' after Weight");
      }
      if (is(',') || is(';')) {
        DFSIM_RETURN_IF_ERROR(next());
      }
    }
    DFSIM_RETURN_IF_ERROR(next());
  }
  return weight;
}

Status DotReader::read_node(std::vector<uint32_t>& chain) {
  if (token_.kind != Kind::kId) {
    return unexpected("the node that the edge leads to");
  }
  chain.push_back(node_id(token_.text));
  DFSIM_RETURN_IF_ERROR(next());
  while (is(':')) {  // a port, which only matters for drawing
    DFSIM_RETURN_IF_ERROR(next());
    DFSIM_RETURN_IF_ERROR(next());
  }
  return ok_status();
}

Status DotReader::read_node_or_edge() {
  std::vector<uint32_t> chain;
  DFSIM_RETURN_IF_ERROR(read_node(chain));
  while (token_.kind == Kind::kArrow || token_.kind == Kind::kLine) {
    if (token_.kind == Kind::kLine) {
      return unexpected("'->': dependencies have a direction");
    }
    DFSIM_RETURN_IF_ERROR(next());
    DFSIM_RETURN_IF_ERROR(read_node(chain));
  }
  DFSIM_ASSIGN_OR_RETURN(const std::optional<TimeNs> weight, read_weight());
  if (chain.size() == 1 && weight.has_value()) {
    nodes_[chain[0]].time = weight;
  }
  for (size_t i = 1; i < chain.size(); ++i) {
    arcs_.push_back({chain[i - 1], chain[i], weight.value_or(default_edge_)});
  }
  return ok_status();
}

Status DotReader::read_statement(int depth) {
  if (is_word("subgraph")) {
    DFSIM_RETURN_IF_ERROR(next());
    if (token_.kind == Kind::kId) {
      DFSIM_RETURN_IF_ERROR(next());
    }
  }
  if (is('{')) {
    return read_statements(depth + 1);
  }
  if (token_.kind != Kind::kId) {
    return unexpected("a node, an edge or '}'");
  }
  const bool node = is_word("node");
  const bool edge = is_word("edge");
  if (node || edge || is_word("graph")) {
    DFSIM_RETURN_IF_ERROR(next());
    DFSIM_ASSIGN_OR_RETURN(const std::optional<TimeNs> weight, read_weight());
    if (node && weight.has_value()) {
      default_node_ = weight;
    } else if (edge && weight.has_value()) {
      default_edge_ = *weight;
    }
    return ok_status();
  }
  // `name = value` sets an attribute of the graph.
  DFSIM_RETURN_IF_ERROR(skip_blanks_and_comments());
  if (source_.peek() == '=') {
    DFSIM_RETURN_IF_ERROR(next());
    DFSIM_RETURN_IF_ERROR(next());
    return next();
  }
  return read_node_or_edge();
}

Status DotReader::read_statements(int depth) {
  if (depth > kMaxNesting) {
    return source_.error(fmt::format("subgraphs are nested over {} deep", kMaxNesting));
  }
  if (!is('{')) {
    return unexpected("'{'");
  }
  DFSIM_RETURN_IF_ERROR(next());
  while (!is('}')) {
    if (is(';')) {
      DFSIM_RETURN_IF_ERROR(next());
      continue;
    }
    DFSIM_RETURN_IF_ERROR(read_statement(depth));
  }
  return next();
}

StatusOr<TaskGraph> DotReader::assemble() {
  Assembler assembler;
  assembler.reserve(nodes_.size(), arcs_.size());
  for (Node& node : nodes_) {
    if (!node.time.has_value()) {
      return source_.error_at(
          node.line,
          fmt::format("node '{}' has no Weight; write {} [Weight=...]; or give all nodes a default",
                      printable(node.name, 40), printable(node.name, 40)));
    }
    assembler.add_task(std::move(node.name), std::span(&*node.time, 1));
  }
  for (const Arc& arc : arcs_) {
    assembler.add_edge(TaskId(arc.from), TaskId(arc.to), arc.delay);
  }
  TaskGraph out;
  out.name = name_;
  out.format = "dot";
  DFSIM_RETURN_IF_ERROR(assembler.check_tasks(source_.path()));
  DFSIM_RETURN_IF_ERROR(assembler.finish(source_.path(), out));
  return out;
}

StatusOr<TaskGraph> DotReader::read() {
  DFSIM_RETURN_IF_ERROR(next());
  if (is_word("strict")) {
    DFSIM_RETURN_IF_ERROR(next());
  }
  if (!is_word("digraph")) {
    return unexpected("'digraph'");
  }
  DFSIM_RETURN_IF_ERROR(next());
  if (token_.kind == Kind::kId) {
    name_ = token_.text;
    DFSIM_RETURN_IF_ERROR(next());
  }
  DFSIM_RETURN_IF_ERROR(read_statements(0));
  if (token_.kind != Kind::kEnd) {
    return unexpected("nothing after the graph");
  }
  return assemble();
}

bool starts_like_dot(std::string_view start) {
  const std::string word = to_lower(start.substr(0, 8));
  return word.starts_with("digraph") || word.starts_with("strict") || word.starts_with("graph") ||
         word.starts_with("//") || word.starts_with("/*");
}

// Graphviz digraph with `Weight` on nodes (time) and edges (delay between processors).
StatusOr<TaskGraph> read_dot_graph(CharSource source) {
  return DotReader(std::move(source)).read();
}

}  // namespace

TaskGraphFormat dot_format() {
  return {.name = "dot",
          .looks_like = "DOT (digraph)",
          .sniff = starts_like_dot,
          .read = read_dot_graph};
}

}  // namespace dfsim::inline graphs::taskgraph
