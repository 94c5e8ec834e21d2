// Dropout in training: exporters leave it out, or write it as an operator that does nothing.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

// Dropouts of the model drop values again; `revived` counts them. O(ops).
StatusOr<Graph> revive_dropouts(const Graph& graph, size_t* revived);

// Adds Dropout where an architecture that exporters write without it has it in training:
//   transformers with layer normalisation and token embeddings (BERT, GPT-2 and similar ones):
//       behind the sum or normalisation of the embeddings, the softmax of attention, and the
//       projections before each residual sum
//   the same without biases in normalisation, but with ReLU or GELU between the layers (T5): the
//       same places and behind the activation; with SiLU (Llama): none
//   convolutional networks: behind the ReLUs of a classifier of several layers (VGG, AlexNet), and
//       before the classifier of networks with depthwise convolutions and batch normalisation
//       (MobileNet, EfficientNet)
// Fused attention drops inside its kernel, which costs nothing more. O(ops).
StatusOr<Graph> add_dropouts(const Graph& graph);

}  // namespace dfsim::inline graphs
