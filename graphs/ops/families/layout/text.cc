// Text: strings move as pointers of 64 bits; how long they are is not known, so work is counted per
// string. TF-IDF counts n-grams of integers or strings.
#include <algorithm>

#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {
namespace {

Status infer_string_concat(InferContext& context) { return infer_broadcast(context); }

Status infer_regex(InferContext& context) {
  context.set_output(0, DType::kBool, context.shape(0));
  return ok_status();
}

// Stop words are dropped: the input is the bound.
Status infer_string_normalizer(InferContext& context) {
  context.set_output(0, DType::kString, context.shape(0));
  const AttrValue* stop_words = context.attributes().find("stopwords");
  if (stop_words != nullptr) {
    context.mark_data_dependent(0);
  }
  return ok_status();
}

// The substrings of each string, padded to the largest number of them, which only the text tells
// unless `maxsplit` bounds it; and how many there are.
Status infer_string_split(InferContext& context) {
  const Shape& x = context.shape(0);
  context.set_output(1, DType::kInt64, x);
  const auto limit = context.attributes().get_int("maxsplit");
  if (x.has_rank() && limit && *limit >= 0 && *limit < kMaxExtent) {
    Dims dims = x.dims();
    dims.emplace_back(*limit + 1);
    context.set_output(0, DType::kString, Shape(std::move(dims)));
    context.mark_data_dependent(0);
  }
  return ok_status();
}

// [C] or [N, C] to [columns] or [N, columns], where columns = largest n-gram index + 1.
Status infer_tf_idf(InferContext& context) {
  const Shape& x = context.shape(0);
  const auto* indexes = context.attributes().get_ints("ngram_indexes");
  if (!x.has_rank() || x.rank() == 0 || indexes == nullptr || indexes->empty()) {
    return ok_status();
  }
  const int64_t last = *std::max_element(indexes->begin(), indexes->end());
  if (last < 0 || last >= kMaxExtent) {
    return context.error("ngram_indexes has no valid largest entry");
  }
  Dims dims = x.dims();
  dims.back() = Dim(last + 1);
  context.set_output(0, DType::kFloat32, Shape(std::move(dims)));
  return ok_status();
}

void work_tf_idf(WorkContext& context) { context.add_flops(context.input(0).shape.elements(), 4); }

// clang-format off
constexpr OpDef kTextOps[] = {
    {.op_type = "StringConcat", .infer = infer_string_concat, .required_inputs = 2},
    {.op_type = "StringNormalizer", .infer = infer_string_normalizer},
    {.op_type = "StringSplit", .infer = infer_string_split},
    {.op_type = "RegexFullMatch", .infer = infer_regex},
    {.op_type = "TfIdfVectorizer", .infer = infer_tf_idf, .work = work_tf_idf},
};
// clang-format on

constexpr WorkNote kTextNotes[] = {
    {work_tf_idf, "4 per input element"},
};

}  // namespace

OpFamily text_op_defs() { return {kTextOps, kTextNotes}; }

}  // namespace dfsim::inline graphs
