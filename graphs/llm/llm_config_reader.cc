// From a config.json to an LlmConfig: finds the family, reads its fields, then the quantization,
// and refuses keys that speak of structure and that the family does not know.
#include "graphs/llm/llm_config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "base/text.h"
#include "graphs/llm/llm_families_internal.h"

namespace dfsim::inline graphs {

namespace {

using Json = nlohmann::json;

constexpr int64_t kMostConfigBytes = int64_t{16} << 20;

// compressed-tensors describes the weights of groups of layers; the first one counts.
bool precision_of_groups(ConfigFields& fields, LlmPrecision* precision) {
  const Json* groups = fields.object("config_groups");
  if (groups == nullptr || groups->empty() || !groups->front().is_object()) {
    return false;
  }
  ConfigFields group(groups->front(), fields.place() + ": config_groups");
  const Json* weights = group.object("weights");
  if (weights == nullptr) {
    return false;
  }
  ConfigFields format(*weights, fields.place() + ": weights");
  const int64_t bits = format.count_or("num_bits", 8);
  const bool floating = format.text_or("type", "int") == "float";
  if (bits == 4 && floating) {
    *precision =
        format.count_or("group_size", 16) == 32 ? LlmPrecision::kMxfp4 : LlmPrecision::kNvfp4;
  } else if (bits == 4) {
    *precision = LlmPrecision::kInt4;
  } else if (floating) {
    const bool block = format.text_or("strategy", "tensor") == "block";
    *precision = block ? LlmPrecision::kFp8Block : LlmPrecision::kFp8;
  } else {
    *precision = LlmPrecision::kInt8;
  }
  return format.status().ok() && (bits == 4 || bits == 8);
}

// GPTQ, AWQ and bitsandbytes say bits; compressed-tensors and ModelOpt describe formats of their
// own.
bool precision_of_quantization(ConfigFields& fields, const std::string& method,
                               LlmPrecision* precision) {
  if (method == "fp8" || method == "fbgemm_fp8") {
    const bool block = fields.has("weight_block_size");
    *precision = block ? LlmPrecision::kFp8Block : LlmPrecision::kFp8;
    return true;
  }
  if (method == "mxfp4") {
    *precision = LlmPrecision::kMxfp4;
    return true;
  }
  if (method == "modelopt") {
    const std::string algorithm = fields.text_or("quant_algo", "FP8");
    *precision = algorithm == "NVFP4" ? LlmPrecision::kNvfp4 : LlmPrecision::kFp8;
    return algorithm == "NVFP4" || algorithm == "FP8";
  }
  if (method == "gptq" || method == "awq") {
    const int64_t bits = fields.count("bits");
    *precision = bits == 8 ? LlmPrecision::kInt8 : LlmPrecision::kInt4;
    return bits == 4 || bits == 8;
  }
  if (method == "bitsandbytes") {
    const bool four = fields.flag_or("load_in_4bit", false);
    *precision = four ? LlmPrecision::kInt4 : LlmPrecision::kInt8;
    return four || fields.flag_or("load_in_8bit", false);
  }
  return method == "compressed-tensors" && precision_of_groups(fields, precision);
}

bool any_contains(const std::vector<std::string>& texts, std::string_view part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

Status read_quantization(const Json& object, const std::string& place, LlmConfig* config) {
  ConfigFields fields(object, place + ": quantization_config");
  const std::string method = fields.text_or("quant_method", "");
  LlmPrecision precision = LlmPrecision::kBf16;
  const bool known = precision_of_quantization(fields, method, &precision);
  DFSIM_RETURN_IF_ERROR(fields.status());
  if (!known) {
    return unsupported(fmt::format(
        "{}: quantization_config: quant_method is '{}', expected fp8, mxfp4, modelopt, or gptq, "
        "awq, bitsandbytes or compressed-tensors with 4 or 8 bits; remove the key and give the "
        "precision as an option",
        place, printable(method)));
  }
  std::vector<std::string> kept = fields.texts("modules_to_not_convert");
  for (const char* const key : {"ignore", "llm_int8_skip_modules"}) {
    const std::vector<std::string> more = fields.texts(key);
    kept.insert(kept.end(), more.begin(), more.end());
  }
  config->published_quantized = true;
  config->published_experts = precision;
  config->published_attention = any_contains(kept, "self_attn") ? LlmPrecision::kBf16 : precision;
  config->published_mlp = any_contains(kept, ".mlp.down_proj") ? LlmPrecision::kBf16 : precision;
  return ok_status();
}

// The type of weights that are not quantised; torch_dtype has the name dtype since
// transformers 4.56.
LlmPrecision half_of(const Json& object) {
  for (const char* const key : {"dtype", "torch_dtype"}) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_string()) {
      return *found == "float16" ? LlmPrecision::kFp16 : LlmPrecision::kBf16;
    }
  }
  return LlmPrecision::kBf16;
}

// Keys that no family needs: they change neither sizes nor kernels.
void ignore_common(ConfigFields& fields) {
  fields.ignore({"architectures",
                 "model_type",
                 "quantization_config",
                 "attention_dropout",
                 "num_return_sequences",
                 "num_beams",
                 "num_beam_groups",
                 "output_hidden_states",
                 "output_attentions",
                 "use_cache",
                 "chunk_size_feed_forward",
                 "head_dim",
                 "rope_scaling",
                 "rope_parameters",
                 "layer_norm_eps",
                 "original_max_position_embeddings",
                 "initial_context_length",
                 "attn_implementation",
                 "_attn_implementation",
                 "is_encoder_decoder",
                 "tie_encoder_decoder",
                 "cross_attention_hidden_size",
                 "bad_words_ids",
                 "no_repeat_ngram_size",
                 "encoder_no_repeat_ngram_size"});
}

// nullptr for a model_type that no family has.
const LlmFamily* family_of(std::string_view model_type) {
  const std::span<const LlmFamily> families = llm_families();
  const auto found = std::find_if(families.begin(), families.end(), [&](const LlmFamily& family) {
    return family.model_type == model_type;
  });
  return found == families.end() ? nullptr : &*found;
}

// Python's json module writes NaN and infinities, which JSON lacks: null in their place.
std::string with_nulls(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool quoted = false;
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    size_t length = 0;
    for (const std::string_view token : {"NaN", "-Infinity", "Infinity"}) {
      length = !quoted && length == 0 && rest.starts_with(token) ? token.size() : length;
    }
    if (length > 0) {
      result += "null";
      i += length;
      continue;
    }
    const bool escaped = quoted && text[i] == '\\' && i + 1 < text.size();
    quoted = text[i] == '"' ? !quoted : quoted;
    result += text.substr(i, escaped ? 2 : 1);
    i += escaped ? 2 : 1;
  }
  return result;
}

StatusOr<LlmConfig> build_config(const Json& root, const std::string& place,
                                 const std::string& name) {
  ConfigFields top(root, place);
  LlmConfig config;
  config.name = name;
  config.model_type = top.text_or("model_type", "");
  DFSIM_RETURN_IF_ERROR(top.status());
  // Models that also see images keep the decoder's fields apart, and its family with them.
  const Json* text = top.object("text_config");
  DFSIM_RETURN_IF_ERROR(top.status());
  const LlmFamily* family = family_of(config.model_type);
  if (family == nullptr && text != nullptr) {
    ConfigFields inner(*text, place + ": text_config");
    family = family_of(inner.text_or("model_type", ""));
    DFSIM_RETURN_IF_ERROR(inner.status());
  }
  if (const std::string_view reason = reason_to_refuse(config.model_type); !reason.empty()) {
    return unsupported(fmt::format("{}: {}: {}", place, config.model_type, reason));
  }
  if (family == nullptr) {
    std::vector<std::string> names;
    for (const LlmFamily& known : llm_families()) {
      names.emplace_back(known.model_type);
    }
    return unsupported(
        fmt::format("{}: {}", place, unknown_name_message("model_type", config.model_type, names)));
  }
  const Json& object = text == nullptr ? root : *text;
  ConfigFields fields(object, place);
  family->read(fields, &config);
  ignore_common(fields);
  DFSIM_RETURN_IF_ERROR(fields.status());
  if (const std::string key = fields.unknown_key(); !key.empty()) {
    return unsupported(fmt::format(
        "{}: key '{}' of {} is not known and may change the network; remove it if it does not",
        place, printable(key), config.model_type));
  }
  for (const char* key : {"vision_config", "audio_config", "speech_config"}) {
    if (top.object(key) != nullptr) {
      config.left_out.emplace_back(key);
    }
  }
  DFSIM_RETURN_IF_ERROR(top.status());
  config.published_half =
      half_of(object) == LlmPrecision::kFp16 ? LlmPrecision::kFp16 : half_of(root);
  if (const Json* quantization = top.object("quantization_config"); quantization != nullptr) {
    DFSIM_RETURN_IF_ERROR(read_quantization(*quantization, place, &config));
  }
  return config;
}

}  // namespace

StatusOr<LlmConfig> parse_llm_config(const std::string& text, const std::string& place,
                                     const std::string& name) {
  const Json root = Json::parse(with_nulls(text), nullptr, false);
  if (!root.is_object()) {
    return invalid_input(fmt::format(
        "{}: is not a JSON object, expected the config.json of a language model", place));
  }
  return build_config(root, place, name);
}

StatusOr<LlmConfig> read_llm_config(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path given(path);
  const bool folder = fs::is_directory(given, error);
  const fs::path file = folder ? given / "config.json" : given;
  const fs::path named = folder ? fs::weakly_canonical(given, error) : given.stem();
  DFSIM_ASSIGN_OR_RETURN(const std::string text, read_file(file.string(), kMostConfigBytes));
  return parse_llm_config(text, file.string(), named.filename().string());
}

}  // namespace dfsim::inline graphs
