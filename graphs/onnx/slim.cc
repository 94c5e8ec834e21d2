#include "graphs/onnx/slim.h"

#include "base/io/slim_message.h"

namespace dfsim::inline graphs {
namespace {

// The messages on the way from ModelProto to tensor payloads.
enum Message : int { kModel, kGraph, kNode, kAttribute, kTensor, kSparseTensor, kFunction };

// Field numbers are facts of onnx.proto.
constexpr MessageField kChildren[] = {
    {kModel, 7, kGraph},
    {kModel, 25, kFunction},
    {kFunction, 7, kNode},
    {kGraph, 1, kNode},
    {kGraph, 5, kTensor},
    {kGraph, 15, kSparseTensor},
    {kNode, 5, kAttribute},
    {kAttribute, 5, kTensor},
    {kAttribute, 10, kTensor},
    {kAttribute, 6, kGraph},
    {kAttribute, 11, kGraph},
    {kAttribute, 22, kSparseTensor},
    {kAttribute, 23, kSparseTensor},
    {kSparseTensor, 1, kTensor},
    {kSparseTensor, 2, kTensor},
};

bool is_payload(int message, uint64_t field) {
  // float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data
  return message == kTensor && ((field >= 4 && field <= 7) || (field >= 9 && field <= 11));
}

constexpr int kMessagesPerSubgraph = 3;  // graph, node, attribute

}  // namespace

StatusOr<std::string> slim_model(std::string_view file) {
  SlimFormat format{"ONNX model", "ONNX", "subgraphs", kChildren, is_payload, kMaxKeptTensorBytes};
  format.messages_per_level = kMessagesPerSubgraph;
  return slim_message(file, format, kModel);
}

}  // namespace dfsim::inline graphs
