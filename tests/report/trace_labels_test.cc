#include "report/recordings/trace_labels.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

TEST_CASE("kernel_label: leaves out result, parameters and ATen's namespaces") {
  CHECK(kernel_label("ampere_sgemm_128x128_tn") == "ampere_sgemm_128x128_tn");
  CHECK(kernel_label("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)") ==
        "ncclKernel_AllReduce_RING_LL_Sum_float");
  CHECK(kernel_label("void at::native::vectorized_elementwise_kernel<4, "
                     "at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, "
                     "at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)") ==
        "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, at::detail::Array<char*, 3> >");
  CHECK(kernel_label("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 2>("
                     "float*, int)") == "CatArrayBatchedCopy<float, 2>");
}

TEST_CASE("kernel_label: keeps parentheses behind a blank") {
  CHECK(kernel_label("Memcpy HtoD (Pinned -> Device)") == "Memcpy HtoD (Pinned -> Device)");
  CHECK(kernel_label("") == "");
  CHECK(kernel_label("(x)") == "(x)");
  CHECK(kernel_label("a<b>>(x)").starts_with("a<b>>"));
  CHECK(kernel_label(std::string(500, 'k')).size() <= 120);
}

TEST_CASE("shapes_label: shapes and types without brackets") {
  CHECK(shapes_label(R"([[128, 5], [5, 128]] ["float", "float"])") == "128x5 5x128 float");
  CHECK(shapes_label(R"([[5, 128], [], []] ["float", "ScalarList", "Scalar"])") == "5x128 float");
  CHECK(shapes_label(R"([[], [5], []] ["float", "int", "Scalar"])") == "- 5 float int");
  CHECK(shapes_label(R"([[[128, 4], [128]], []] ["TensorList", "Scalar"])") == "(128x4 128)");
  CHECK(shapes_label("[[2,3]]") == "2x3");
}

TEST_CASE("shapes_label: other text stays as it is") {
  for (const char* text : {"layer1/MatMul", "[[2, 3", "[[2, x]]", R"([[2]] ["float)", "[]", "",
                           "[[2]] more", "[[[[[[[[1]]]]]]]]"}) {
    CHECK(shapes_label(text) == text);
  }
}

}  // namespace
}  // namespace dfsim
