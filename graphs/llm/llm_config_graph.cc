// Products with weights, in topological order, are layers of equal length between the embedding and
// the product with the vocabulary: that fixes every width. Norms and biases follow from vectors of
// weights, by their lengths.
#include "graphs/llm/llm_config_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "graphs/llm/llm_parameters.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kContextOfGraphs = 131072;
constexpr double kParameterTolerance = 0.01;

// A product x W of k columns by n.
struct WeightProduct {
  int64_t k = 0;
  int64_t n = 0;
  TensorId weight;
  bool operator==(const WeightProduct& other) const { return k == other.k && n == other.n; }
};

struct CacheShape {
  int64_t tensors = 0;  // keys and values
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
};

bool is_matrix(const Tensor& tensor) {
  return tensor.role == TensorRole::kWeight && tensor.shape.rank() == 2 && tensor.shape.is_static();
}

// Keys or values of a layer, by name and shape.
bool is_cache(const Tensor& tensor) {
  const std::string name = to_lower(tensor.name);
  const bool named = name.find("past") != std::string::npos ||
                     name.find("present") != std::string::npos ||
                     name.find("cache") != std::string::npos;
  return named && tensor.shape.rank() == 4 && tensor.shape[1].known() && tensor.shape[3].known();
}

class DecoderReader {
 public:
  DecoderReader(const Graph& graph, std::string place, std::string name)
      : graph_(graph), place_(std::move(place)) {
    config_.name = std::move(name);
    config_.model_type = "onnx";
  }

  StatusOr<LlmConfig> read() {
    DFSIM_RETURN_IF_ERROR(read_cache());
    DFSIM_RETURN_IF_ERROR(read_products());
    read_vectors();
    LlmLayer layer;
    DFSIM_RETURN_IF_ERROR(read_layer(&layer));
    config_.layers.assign(static_cast<size_t>(cache_.tensors / 2), layer);
    DFSIM_RETURN_IF_ERROR(check_parameters());
    note_wide_weights();
    return std::move(config_);
  }

 private:
  Status refuse(const std::string& found) const {
    return unsupported(place_ + ": " + found +
                       "; give the model's config.json, or predict the file with dfsim predict");
  }

  Status read_cache() {
    for (const auto& ids : {graph_.inputs(), graph_.outputs()}) {
      cache_ = {};
      for (const TensorId id : ids) {
        const Tensor& tensor = graph_.tensor(id);
        if (!is_cache(tensor)) {
          continue;
        }
        const CacheShape one = {0, tensor.shape[1].extent(), tensor.shape[3].extent()};
        if (cache_.tensors > 0 &&
            (one.kv_heads != cache_.kv_heads || one.head_dim != cache_.head_dim)) {
          return refuse(
              fmt::format("cache '{}' has another shape than the ones before it, "
                          "expected layers that are alike",
                          printable(tensor.name)));
        }
        cache_.kv_heads = one.kv_heads;
        cache_.head_dim = one.head_dim;
        ++cache_.tensors;
      }
      if (cache_.tensors > 0) {
        break;
      }
    }
    if (cache_.tensors == 0 || cache_.tensors % 2 != 0) {
      return refuse(
          fmt::format("{} inputs or outputs are caches of keys and values ('past...' or "
                      "'present...' of shape [batch, heads, tokens, size]), expected two "
                      "per layer of a decoder",
                      cache_.tensors));
    }
    return ok_status();
  }

  Status read_products() {
    for (const Op& op : graph_.ops()) {
      if (op.op_type == "Gather" && op.inputs.size() > 1 &&
          is_matrix(graph_.tensor(op.inputs[0]))) {
        add_embedding(op.inputs[0]);
      } else if ((op.op_type == "MatMul" || op.op_type == "Gemm") && op.inputs.size() > 1) {
        add_product(op);
      } else if (op.op_type.find("MoE") != std::string::npos) {
        return refuse("operator " + op.op_type + " has experts, expected dense layers");
      }
    }
    if (config_.vocab == 0) {
      return refuse("no Gather reads a matrix of weights, expected the embedding");
    }
    // The last product with the vocabulary's width gives the logits.
    const auto head = std::find_if(products_.rbegin(), products_.rend(),
                                   [&](const WeightProduct& p) { return p.n == config_.vocab; });
    if (head == products_.rend() || head->k != config_.hidden) {
      return refuse(fmt::format("no product of {} by {} columns, expected one for the logits",
                                config_.hidden, config_.vocab));
    }
    config_.tied_embeddings = head->weight == embedding_ || shares_bytes(head->weight, embedding_);
    products_.erase(std::next(head).base());
    const auto layers = static_cast<size_t>(cache_.tensors / 2);
    if (products_.empty() || products_.size() % layers != 0) {
      return refuse(fmt::format("{} products with weights in {} layers, expected as many in each",
                                products_.size(), layers));
    }
    per_layer_ = products_.size() / layers;
    for (size_t i = per_layer_; i < products_.size(); ++i) {
      if (!(products_[i] == products_[i - per_layer_])) {
        return refuse("the products of its layers differ, expected layers that are alike");
      }
    }
    return ok_status();
  }

  bool shares_bytes(TensorId a, TensorId b) const {
    return graph_.tensor(a).storage_key != 0 &&
           graph_.tensor(a).storage_key == graph_.tensor(b).storage_key;
  }

  // The longest table is the vocabulary's; another of the same width holds learnt positions.
  void add_embedding(TensorId id) {
    const Shape& shape = graph_.tensor(id).shape;
    const int64_t rows = shape[0].extent();
    if (rows > config_.vocab) {
      positions_ = config_.vocab;
      config_.vocab = rows;
      config_.hidden = shape[1].extent();
      embedding_ = id;
    } else if (shape[1].extent() == config_.hidden) {
      positions_ = rows;
    }
  }

  void add_product(const Op& op) {
    TensorId weight = op.inputs[1];
    bool swapped = op.op_type == "Gemm" && op.attributes.int_or("transB", 0) != 0;
    // A weight that is transposed in the graph.
    if (const OpId producer = graph_.tensor(weight).producer;
        producer.valid() && graph_.op(producer).op_type == "Transpose" &&
        is_matrix(graph_.tensor(graph_.op(producer).inputs[0]))) {
      weight = graph_.op(producer).inputs[0];
      swapped = !swapped;
    }
    if (!is_matrix(graph_.tensor(weight))) {
      return;
    }
    const Shape& shape = graph_.tensor(weight).shape;
    products_.push_back({shape[swapped ? 1 : 0].extent(), shape[swapped ? 0 : 1].extent(), weight});
  }

  // Norms, biases, norms of heads.
  void read_vectors() {
    for (const Tensor& tensor : graph_.tensors()) {
      if (tensor.role == TensorRole::kWeight && tensor.shape.rank() == 1 &&
          tensor.shape.is_static()) {
        ++vectors_[tensor.shape[0].extent()];
      }
    }
    for (const Op& op : graph_.ops()) {
      op_types_.insert(op.op_type);
    }
    config_.norm_bias = op_types_.contains("LayerNormalization");
    config_.qk_norm = vectors_[cache_.head_dim] >= cache_.tensors;
  }
  // Vectors of the norms before both blocks of a layer, with their biases.
  int64_t block_norms() const { return config_.norm_bias ? 4 : 2; }
  bool has_vectors(int64_t length, int64_t in_each_layer) {
    return vectors_[length] >= in_each_layer * (cache_.tensors / 2);
  }

  Status read_layer(LlmLayer* layer) {
    const int64_t kv = cache_.kv_heads * cache_.head_dim;
    const std::vector<WeightProduct> p(products_.begin(),
                                       products_.begin() + static_cast<ptrdiff_t>(per_layer_));
    int64_t q = 0;
    size_t next = 0;
    if (p.size() > 4 && p[0].k == config_.hidden && p[1].k == config_.hidden &&
        p[2].k == config_.hidden && p[3].n == config_.hidden) {
      q = p[0].n + p[1].n + p[2].n - 2 * kv;  // in any order
      next = 3;
      config_.qkv_bias = has_vectors(kv, kv == config_.hidden ? block_norms() + 3 : 2);
      hidden_biases_ =
          !config_.qkv_bias ? 0 : (q == config_.hidden ? 1 : 0) + (kv == config_.hidden ? 2 : 0);
    } else if (p.size() > 2) {
      q = p[0].n - 2 * kv;  // one product for all three
      next = 1;
      config_.qkv_bias = has_vectors(p[0].n, 1);
    }
    if (next == 0 || p[0].k != config_.hidden || q <= 0 || q % cache_.head_dim != 0 ||
        p[next].k != q || p[next].n != config_.hidden) {
      return refuse(fmt::format(
          "the first products of a layer do not belong to attention with {} heads of {} numbers in "
          "the cache, expected q, k, v and o",
          cache_.kv_heads, cache_.head_dim));
    }
    layer->heads = q / cache_.head_dim;
    layer->kv_heads = cache_.kv_heads;
    layer->head_dim = cache_.head_dim;
    return read_block(p, next + 1, layer);
  }

  Status read_block(const std::vector<WeightProduct>& p, size_t first, LlmLayer* layer) {
    const size_t count = p.size() - first;
    const int64_t down = p.back().k;
    const bool closed =
        (count == 2 || count == 3) && p.back().n == config_.hidden && p[first].k == config_.hidden;
    const bool gated = closed && (count == 3 ? p[first].n == down && p[first + 1].n == down
                                             : p[first].n == 2 * down);
    if (!gated && !(closed && count == 2 && p[first].n == down)) {
      return refuse(
          fmt::format("{} products follow attention in a layer, expected those of a dense block "
                      "(gate, up and down)",
                      count));
    }
    layer->intermediate = down;
    const bool sigmoid = op_types_.contains("Sigmoid") || op_types_.contains("Swish");
    config_.activation = !gated    ? LlmActivation::kGelu
                         : sigmoid ? LlmActivation::kSwiGlu
                                   : LlmActivation::kGeGlu;
    config_.mlp_bias = has_vectors(down, gated ? 2 : 1) || has_vectors(2 * down, 1);
    // Vectors of the hidden width: norms of both blocks (with their biases), then biases of
    // products that end there.
    const int64_t known = hidden_biases_ + (config_.mlp_bias ? 1 : 0);
    config_.post_norms = !config_.norm_bias && known == 0 && has_vectors(config_.hidden, 4);
    config_.o_bias = !config_.post_norms && has_vectors(config_.hidden, block_norms() + known + 1);
    config_.max_positions = positions_ > 1 ? positions_ : kContextOfGraphs;
    return ok_status();
  }

  Status check_parameters() const {
    double weights = 0;
    std::set<uint32_t> seen;
    for (const Tensor& tensor : graph_.tensors()) {
      if (tensor.role == TensorRole::kWeight && tensor.shape.is_static() &&
          (tensor.storage_key == 0 || seen.insert(tensor.storage_key).second)) {
        weights += static_cast<double>(tensor.shape.elements().value());
      }
    }
    const auto counted = static_cast<double>(llm_parameters(config_).total());
    if (std::max(weights, counted) > (1 + kParameterTolerance) * std::min(weights, counted)) {
      return refuse(
          fmt::format("its weights have {:.4g} numbers and the decoder read from it {:.4g}, "
                      "expected the same",
                      weights, counted));
    }
    return ok_status();
  }

  // Serving engines load fp32 weights in 16 bits.
  void note_wide_weights() {
    double wide = 0;
    std::set<uint32_t> seen;
    for (const Tensor& tensor : graph_.tensors()) {
      if (tensor.role == TensorRole::kWeight && tensor.dtype == DType::kFloat32 &&
          tensor.shape.is_static() &&
          (tensor.storage_key == 0 || seen.insert(tensor.storage_key).second)) {
        wide += static_cast<double>(tensor.bytes().value());
      }
    }
    const auto halves = 2 * static_cast<double>(llm_parameters(config_).total());
    if (wide > halves) {
      config_.notes.push_back(
          fmt::format("the file has {} of float32 weights: counted in bf16, as serving engines "
                      "load them, where --precision says nothing else",
                      format_bytes(static_cast<Bytes>(wide))));
    }
  }

  const Graph& graph_;
  std::string place_;
  LlmConfig config_;
  CacheShape cache_;
  std::vector<WeightProduct> products_;
  size_t per_layer_ = 0;
  int64_t hidden_biases_ = 0;  // of q, k and v in a layer, as long as the hidden width
  TensorId embedding_;
  int64_t positions_ = 0;
  std::map<int64_t, int64_t> vectors_;  // weights of rank 1, by length
  std::set<std::string> op_types_;
};

}  // namespace

StatusOr<LlmConfig> llm_config_of_graph(const Graph& graph, const std::string& place,
                                        const std::string& name) {
  return DecoderReader(graph, place, name).read();
}

}  // namespace dfsim::inline graphs
