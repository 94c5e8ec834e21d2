// The table of ONNX's messages for base/io/slim_message.h: on which fields to descend, and which
// hold weights or texts that dfsim does not need.
#include "graphs/onnx/slim.h"

#include <algorithm>
#include <array>
#include <utility>

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

// Texts for people, which exporters fill with whole stack traces.
bool is_unread(int message, uint64_t field) {
  constexpr std::array<std::pair<int, uint64_t>, 6> kDocStrings = {
      {{kModel, 6}, {kGraph, 10}, {kNode, 6}, {kAttribute, 13}, {kTensor, 12}, {kFunction, 8}}};
  return std::find(kDocStrings.begin(), kDocStrings.end(), std::pair(message, field)) !=
         kDocStrings.end();
}

// Names of producers, graphs, nodes, tensors, attributes and functions, and declarations of inputs,
// outputs and values, which hold little else.
bool is_name(int message, uint64_t field) {
  switch (message) {
    case kModel:
      return field >= 2 && field <= 4;
    case kGraph:
      return field == 2 || (field >= 11 && field <= 13);
    case kNode:
      return (field >= 1 && field <= 4) || field == 7 || field == 8;
    case kAttribute:
      return field == 1 || field == 21;
    case kTensor:
      return field == 8 || field == 13;
    case kFunction:
      return field == 1 || (field >= 4 && field <= 6) || field == 10 || field == 12;
    default:
      return false;
  }
}

constexpr int kMessagesPerSubgraph = 3;  // graph, node, attribute

}  // namespace

StatusOr<std::string> slim_model(std::string_view file) {
  SlimFormat format{"ONNX model", "ONNX", "subgraphs", kChildren, is_payload, kMaxKeptTensorBytes};
  format.messages_per_level = kMessagesPerSubgraph;
  format.is_unread = is_unread;
  format.is_name = is_name;
  return slim_message(file, format, kModel);
}

}  // namespace dfsim::inline graphs
