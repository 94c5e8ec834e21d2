// Mixtures of experts on CPUs: times by hand.
#include "opmodel/model/laws/cpu/expert_kernels.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/opmodel/cpu/operator_of.h"

namespace dfsim {
namespace {

CoreRates measured_rates(int cores) {
  CoreRates rates;
  rates.fp32 = rates.int8 = 1;
  rates.cores = cores;
  rates.memory_bytes_per_ns = 1e9;
  return rates;
}

// 4 experts of 100 x 50 and 50 x 100 weights, that many of which each row chooses.
OpDescriptor mixture(const std::string& type, int64_t rows, int64_t chosen,
                     const std::string& attributes) {
  OpDescriptor op = operator_of("com.microsoft." + type, {{rows, 100}, {rows, 4}, {4, 50, 100}},
                                {rows, 100}, attributes + ";k=" + std::to_string(chosen));
  op.work.macs = rows * chosen * 10'000;
  return op;
}

double plain_us(int64_t rows, int64_t chosen, int cores = 1) {
  return experts_ns(mixture("MoE", rows, chosen, "accuracy_level=0;bits=32;block_size=0"),
                    measured_rates(cores)) /
         1e3;
}

TEST_CASE("Expert kernels: one row reads each expert's weights, more have them copied") {
  CHECK(plain_us(1, 1) == Approx(10 * (0.20 + 0.0229)));
  CHECK(plain_us(1, 2) == Approx(20 * (0.20 + 0.0229)));
  CHECK(plain_us(10, 4) == Approx(40 * (0.40 + 10 * 0.0229)));  // all experts, ten rows each
  // Two rows of a half: three of four experts, two of which have one row.
  CHECK(plain_us(2, 2) == Approx(30 * (0.20 * 2 / 3 + 0.40 / 3 + 4.0 / 3 * 0.0229)));
}

TEST_CASE("Expert kernels: threads share experts, so the one with most of them decides") {
  CHECK(plain_us(10, 4, 2) == Approx(20 * (0.40 + 10 * 0.0229)));
  CHECK(plain_us(1, 1, 2) == Approx(plain_us(1, 1)));  // one expert
  CHECK(plain_us(1, 2, 2) > plain_us(1, 2) / 2);
  CHECK(plain_us(10, 4, 3) == Approx(20 * (0.40 + 10 * 0.0229)));  // two of four
}

TEST_CASE("Expert kernels: weights without blocks are written out, by the cache's size") {
  const OpDescriptor op = mixture("QMoE", 10, 4, "accuracy_level=0;bits=8;block_size=0");
  CoreRates rates = measured_rates(1);
  rates.cache_bytes = 80'000;  // a quarter is as much as the first matrix: 5,000 weights of 4 bytes
  CHECK(experts_ns(op, rates) == Approx(40'000 * (0.40 + 10 * 0.0229)));
  rates.cache_bytes = 40'000;
  CHECK(experts_ns(op, rates) == Approx(40'000 * (0.75 + 10 * 0.0229)));
  rates.memory_bytes_per_ns = 0.1;
  CHECK(experts_ns(op, rates) == Approx(40'000 / 0.1));  // a byte each
}

TEST_CASE("Expert kernels: weights in blocks are packed products, those of 8 bits at any level") {
  const auto us = [](const std::string& attributes) {
    return experts_ns(mixture("QMoE", 10, 4, attributes + ";block_size=32"), measured_rates(1)) /
           1e3;
  };
  CHECK(us("accuracy_level=0;bits=4") == Approx(40 * (0.275 + 10 * 0.0229)));
  CHECK(us("accuracy_level=4;bits=4") == Approx(40 * (0.017 + 10 * 0.0232)));
  CHECK(us("accuracy_level=0;bits=8") == Approx(40 * (0.026 + 10 * 0.0353)));
}

TEST_CASE("Expert kernels: nothing is known without a router or the number of chosen experts") {
  OpDescriptor op = mixture("MoE", 10, 2, "accuracy_level=0;bits=32;block_size=0");
  op.input_extents[1] = {-1};
  CHECK(experts_ns(op, measured_rates(1)) == 0);
  op = mixture("MoE", 10, 2, "");
  op.attributes.clear();
  CHECK(experts_ns(op, measured_rates(1)) == 0);
}

}  // namespace
}  // namespace dfsim
