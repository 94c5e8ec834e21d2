// Validates and freezes a graph: sorts operators producers first, gives missing and repeated
// names a unique one, and indexes the readers of each tensor. The sort keeps the file's order
// among independent operators, because frameworks execute in that order and a reader looks for
// it.
#include "graphs/ir/graph_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_set>

#include "base/text.h"

namespace dfsim::inline graphs {
namespace {

std::string unique_name(std::string_view wanted,
                        const std::function<bool(const std::string&)>& taken) {
  std::string name(wanted);
  for (int suffix = 1; taken(name); ++suffix) {
    name = fmt::format("{}_{}", wanted, suffix);
  }
  return name;
}

// The ops that stay unsorted hold at least one cycle: walks producers until one repeats.
std::string describe_cycle(const std::vector<Op>& ops, const std::vector<Tensor>& tensors,
                           const std::vector<uint32_t>& pending) {
  constexpr size_t kMaxNamed = 5;
  size_t current = 0;
  while (pending[current] == 0) {
    ++current;
  }
  std::vector<size_t> path;
  std::unordered_set<size_t> seen;
  while (seen.insert(current).second) {
    path.push_back(current);
    for (const TensorId input : ops[current].inputs) {
      const OpId producer = input.valid() ? tensors[input.index()].producer : OpId();
      if (producer.valid() && pending[producer.index()] > 0) {
        current = producer.index();
        break;
      }
    }
  }
  const auto start = std::find(path.begin(), path.end(), current);
  std::vector<std::string> names;
  for (auto it = start; it != path.end() && names.size() < kMaxNamed; ++it) {
    names.push_back(
        fmt::format("{} '{}'", printable(ops[*it].op_type, 40), printable(ops[*it].name)));
  }
  const auto length = static_cast<size_t>(path.end() - start);
  return join(names, " <- ") + (length > kMaxNamed ? fmt::format(" ({} ops in all)", length) : "");
}

}  // namespace

GraphBuilder::GraphBuilder(const Graph& graph) : graph_(graph) {
  for (size_t i = 0; i < graph_.tensors_.size(); ++i) {
    tensor_ids_.emplace(graph_.tensors_[i].name, TensorId(i));
  }
  for (size_t i = 0; i < graph_.symbols_.size(); ++i) {
    symbol_ids_.emplace(graph_.symbols_[i], static_cast<uint32_t>(i));
  }
}

TensorId GraphBuilder::tensor_by_name(std::string_view name) {
  const auto [it, inserted] = tensor_ids_.try_emplace(std::string(name), TensorId(tensor_count()));
  if (inserted) {
    graph_.tensors_.emplace_back().name = it->first;
    graph_.constant_index_.push_back(-1);
  }
  return it->second;
}

TensorId GraphBuilder::find_tensor(std::string_view name) const {
  const auto it = tensor_ids_.find(std::string(name));
  return it == tensor_ids_.end() ? TensorId() : it->second;
}

TensorId GraphBuilder::add_tensor(Tensor tensor) {
  const std::string wanted = tensor.name.empty() ? "tensor" : tensor.name;
  tensor.name =
      unique_name(wanted, [this](const std::string& name) { return tensor_ids_.contains(name); });
  const TensorId id = tensor_by_name(tensor.name);
  graph_.tensors_[id.index()] = std::move(tensor);
  return id;
}

StatusOr<OpId> GraphBuilder::add_op(Op op) {
  const OpId id(op_count());
  for (const TensorId output : op.outputs) {
    if (!output.valid()) {
      continue;
    }
    Tensor& produced = tensor(output);
    if (produced.producer.valid()) {
      const Op& first = produced.producer == id ? op : graph_.ops_[produced.producer.index()];
      return invalid_input(
          fmt::format("tensor '{}' is produced twice: by {} '{}' and by {} '{}'; each tensor needs "
                      "one producer",
                      printable(produced.name), printable(first.op_type, 40), printable(first.name),
                      printable(op.op_type, 40), printable(op.name)));
    }
    if (produced.is_input || produced.role != TensorRole::kActivation) {
      return invalid_input(fmt::format(
          "tensor '{}' is produced by {} '{}', but is a graph input or initializer already",
          printable(produced.name), printable(op.op_type, 40), printable(op.name)));
    }
    produced.producer = id;
  }
  graph_.ops_.push_back(std::move(op));
  return id;
}

void GraphBuilder::mark_input(TensorId id) {
  if (!tensor(id).is_input) {
    tensor(id).is_input = true;
    graph_.inputs_.push_back(id);
  }
}

void GraphBuilder::mark_output(TensorId id) {
  if (!tensor(id).is_output) {
    tensor(id).is_output = true;
    graph_.outputs_.push_back(id);
  }
}

void GraphBuilder::set_elements(TensorId id, ListElements elements) {
  if (elements.size() <= kMaxListElements) {
    elements_[id] = std::make_shared<const ListElements>(std::move(elements));
  }
}

std::shared_ptr<const ListElements> GraphBuilder::elements(TensorId id) const {
  const auto it = elements_.find(id);
  return it != elements_.end() ? it->second : nullptr;
}

void GraphBuilder::set_constant(TensorId id, ConstValue value) {
  int32_t& index = graph_.constant_index_[id.index()];
  if (index < 0) {
    index = static_cast<int32_t>(graph_.constants_.size());
    graph_.constants_.push_back(std::move(value));
  } else {
    graph_.constants_[static_cast<size_t>(index)] = std::move(value);
  }
}

const ConstValue* GraphBuilder::constant(TensorId id) const { return graph_.constant(id); }

uint32_t GraphBuilder::symbol(std::string_view name) {
  const auto [it, inserted] =
      symbol_ids_.try_emplace(std::string(name), static_cast<uint32_t>(graph_.symbols_.size()));
  if (inserted) {
    graph_.symbols_.push_back(it->first);
  }
  return it->second;
}

Status GraphBuilder::sort() {
  index_consumers();
  std::vector<Op>& ops = graph_.ops_;
  std::vector<uint32_t> pending(ops.size(), 0);  // distinct producers not yet emitted
  for (size_t t = 0; t < graph_.tensors_.size(); ++t) {
    if (graph_.tensors_[t].producer.valid()) {
      for (const OpId consumer : graph_.consumers(TensorId(t))) {
        ++pending[consumer.index()];
      }
    }
  }
  // A min-heap on file position keeps the file's order among independent ops.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (pending[i] == 0) {
      ready.push(i);
    }
  }
  std::vector<size_t> order;
  order.reserve(ops.size());
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const TensorId output : ops[next].outputs) {
      if (!output.valid()) {
        continue;
      }
      for (const OpId consumer : graph_.consumers(output)) {
        if (--pending[consumer.index()] == 0) {
          ready.push(consumer.index());
        }
      }
    }
  }
  if (order.size() != ops.size()) {
    return invalid_input(fmt::format("the graph has a cycle: {}; a dataflow graph must have none",
                                     describe_cycle(ops, graph_.tensors_, pending)));
  }
  if (std::is_sorted(order.begin(), order.end())) {
    return ok_status();
  }
  std::vector<Op> sorted;
  sorted.reserve(ops.size());
  for (const size_t old_index : order) {
    const OpId new_id(sorted.size());
    sorted.push_back(std::move(ops[old_index]));
    for (const TensorId output : sorted.back().outputs) {
      if (output.valid()) {
        tensor(output).producer = new_id;
      }
    }
  }
  ops = std::move(sorted);
  return ok_status();
}

void GraphBuilder::name_ops() {
  std::unordered_set<std::string> names;
  names.reserve(op_count());
  // Names that the file gives stay; only missing and repeated ones are generated.
  std::vector<size_t> to_name;
  for (size_t i = 0; i < op_count(); ++i) {
    if (graph_.ops_[i].name.empty() || !names.insert(graph_.ops_[i].name).second) {
      to_name.push_back(i);
    }
  }
  std::unordered_map<std::string, size_t> next_suffix;
  for (const size_t i : to_name) {
    Op& op = graph_.ops_[i];
    const std::string stem = op.name.empty() ? op.op_type : op.name;
    size_t& suffix = next_suffix.try_emplace(stem, op.name.empty() ? 0 : 1).first->second;
    do {
      op.name = fmt::format("{}_{}", stem, suffix++);
    } while (!names.insert(op.name).second);
  }
}

void GraphBuilder::index_consumers() {
  const size_t count = tensor_count();
  std::vector<uint32_t>& offsets = graph_.consumer_offsets_;
  offsets.assign(count + 1, 0);
  // Two passes of a counting sort; `last` skips an op that reads the same tensor twice.
  std::vector<OpId> last(count);
  const auto for_each_read = [&](const auto& visit) {
    std::fill(last.begin(), last.end(), OpId());
    for (size_t i = 0; i < op_count(); ++i) {
      for (const TensorId input : graph_.ops_[i].inputs) {
        if (input.valid() && last[input.index()] != OpId(i)) {
          last[input.index()] = OpId(i);
          visit(input, OpId(i));
        }
      }
    }
  };
  for_each_read([&](TensorId input, OpId) { ++offsets[input.index() + 1]; });
  for (size_t i = 0; i < count; ++i) {
    offsets[i + 1] += offsets[i];
  }
  graph_.consumers_.resize(offsets[count]);
  std::vector<uint32_t> cursor(offsets.begin(), offsets.end() - 1);
  for_each_read([&](TensorId input, OpId op) { graph_.consumers_[cursor[input.index()]++] = op; });
}

StatusOr<Graph> GraphBuilder::build() {
  DFSIM_RETURN_IF_ERROR(sort());
  name_ops();
  index_consumers();
  tensor_ids_.clear();
  symbol_ids_.clear();
  return std::move(graph_);
}

}  // namespace dfsim::inline graphs
