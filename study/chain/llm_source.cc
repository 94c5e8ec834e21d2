#include "study/chain/llm_source.h"

#include "graphs/llm/llm_config_graph.h"
#include "graphs/llm/llm_config_reader.h"
#include "study/chain/model_source.h"

namespace dfsim::inline study {

StatusOr<LlmConfig> load_llm_config(const std::string& path) {
  if (!path.ends_with(".onnx")) {
    return read_llm_config(path);
  }
  ModelOptions options;
  options.path = path;
  DFSIM_ASSIGN_OR_RETURN(const ImportedModel model, import_model(options));
  return llm_config_of_graph(model.graph, path, model_name(path));
}

}  // namespace dfsim::inline study
