// shareable_model: a model's graph without its weights and with the shapes that dfsim has found.
//
// The file is a valid ONNX model (onnx.checker, Netron, even ONNX Runtime take it): a weight
// becomes a sparse Constant without entries, which says name, type and shape and holds no number.
// Before opset 11, which has none, it becomes a sparse initializer (onnx.checker's full_check,
// which asks for dense types, objects to those).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "graphs/algorithms/symbol_study.h"
#include "graphs/ir/import.h"

namespace dfsim::inline graphs {

// Numbers that shapes may hang on stay: integers, and floating tables of at most this many.
inline constexpr int64_t kMaxKeptFloats = 16;

// `model` is what import_onnx_bytes(content) has given, `symbols` its study. Dimensions that depend
// on dynamic ones as products or by an offset say how ("batch", "12*batch*sequence", "past + 1");
// those that depend on them in other ways, and what depends on data, are left open. Given
// dimensions (--dim, --batch) become numbers.
// Error (kInvalidInput): `content` cannot be read; more than kMaxStudiedSymbols dynamic dimensions.
StatusOr<std::string> shareable_model(std::string_view content, const ImportedModel& model,
                                      std::span<const StudiedSymbol> symbols);

}  // namespace dfsim::inline graphs
