#include "graphs/tensorflow/slim.h"

#include "base/io/slim_message.h"

namespace dfsim::inline graphs {
namespace {

// The messages on the way to the payloads of constants.
enum Message : int {
  kSavedModel,
  kMetaGraph,
  kGraph,
  kLibrary,
  kFunction,
  kNode,
  kAttributeEntry,
  kAttribute,
  kList,
  kFunctionName,
  kTensor
};

// Field numbers are those of graphdef.proto.
constexpr MessageField kChildren[] = {
    {kSavedModel, 2, kMetaGraph},
    {kMetaGraph, 2, kGraph},
    {kGraph, 1, kNode},
    {kGraph, 2, kLibrary},
    {kLibrary, 1, kFunction},
    {kFunction, 3, kNode},
    {kNode, 5, kAttributeEntry},
    {kAttributeEntry, 2, kAttribute},
    {kAttribute, 8, kTensor},
    {kAttribute, 1, kList},
    {kAttribute, 10, kFunctionName},
    {kList, 8, kTensor},
    {kList, 9, kFunctionName},
    {kFunctionName, 2, kAttributeEntry},
};

bool is_payload(int message, uint64_t field) {
  return message == kTensor && field >= 4;  // tensor_content and the lists of values
}

// Collections, assets, the tree of objects: as large as the graph, and of no use here.
bool is_unread(int message, uint64_t field) {
  return message == kMetaGraph && (field == 3 || field == 4 || field == 6 || field == 7);
}

// Names of nodes, types, inputs, devices, attributes and functions; signatures of functions and the
// texts of attributes hold names, too.
bool is_name(int message, uint64_t field) {
  return (message == kNode && field >= 1 && field <= 4) ||
         (message == kAttributeEntry && field == 1) || (message == kFunctionName && field == 1);
}

}  // namespace

StatusOr<std::string> slim_graph(std::string_view file, TensorFlowFile kind) {
  const bool saved = kind == TensorFlowFile::kSavedModel;
  SlimFormat format{saved ? "SavedModel" : "GraphDef",
                    "TensorFlow",
                    "attributes",
                    kChildren,
                    is_payload,
                    kMaxKeptConstBytes};
  format.is_unread = is_unread;
  format.is_name = is_name;
  return slim_message(file, format, saved ? kSavedModel : kGraph);
}

}  // namespace dfsim::inline graphs
