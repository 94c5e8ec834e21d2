// Rows that the rest of a profile speaks against.
#include "opmodel/samples/contradictions.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/opmodel/synthetic_profile.h"

namespace dfsim {
namespace {

// An operator of a network in one run: a product of 64 x batch rows.
void add_in_network(Profile& profile, const std::string& network, int layer, int32_t batch,
                    double factor, int64_t columns) {
  const int64_t rows = int64_t{64} * batch;
  ProfileRow row =
      make_row(profile, "MatMul", OpClass::kMatMul, {f32({rows, 256}), f32({256, columns})},
               {f32({rows, columns})},
               factor * toy_gemm_us(static_cast<double>(rows), static_cast<double>(columns), 256));
  row.network = profile.intern(network);
  row.name = profile.intern(fmt::format("{}/layer{}/MatMul", network, layer));
  row.batch = batch;
  profile.add(row);
}

// Three networks of eight layers with columns of their own, each at three batch sizes.
template <typename Factor>
Profile three_networks(Factor factor) {
  Profile profile;
  for (int network = 0; network < 3; ++network) {
    for (int layer = 0; layer < 8; ++layer) {
      for (const int32_t batch : {16, 32, 64}) {
        add_in_network(profile, fmt::format("net{}", network), layer, batch,
                       factor(network, layer, batch), 256 + 64 * (8 * network + layer));
      }
    }
  }
  return profile;
}

struct Found {
  TrainingData data;
  std::vector<OddSample> contradictions;
};

Found find_in(const Profile& profile) {
  auto data = make_training_data(profile, {});
  REQUIRE(data.ok());
  Found found = {std::move(*data), {}};
  found.contradictions = find_contradictions(found.data);
  return found;
}

TEST_CASE("Contradictions: a consistent profile has none") {
  CHECK(find_in(three_networks([](int, int, int32_t) { return 1.0; })).contradictions.empty());
}

TEST_CASE("Contradictions: a jump that the work does not explain is found where it is") {
  // 6.8 times as long where the work doubles.
  const Found found = find_in(three_networks([](int network, int layer, int32_t batch) {
    return network == 1 && layer == 4 && batch == 32 ? 3.4 : 1.0;
  }));
  REQUIRE(found.contradictions.size() == 1);
  const OddSample& one = found.contradictions[0];
  CHECK(found.data.samples[one.sample].batch == 32);
  CHECK(one.factor == Approx(3.4).epsilon(0.1));
  CHECK(one.reason.find("at batch") != std::string::npos);
}

TEST_CASE("Contradictions: the last size may be the wrong one, or a time that falls") {
  for (const double factor : {4.0, 0.2}) {
    CAPTURE(factor);
    const Found found = find_in(three_networks([&](int network, int layer, int32_t batch) {
      return network == 0 && layer == 2 && batch == 64 ? factor : 1.0;
    }));
    REQUIRE(found.contradictions.size() == 1);
    CHECK(found.data.samples[found.contradictions[0].sample].batch == 64);
  }
}

TEST_CASE("Contradictions: a step of the whole machine is none") {
  // From batch 64 on, everything takes 1.9 times as long: a cache that overflows.
  const Found found =
      find_in(three_networks([](int, int, int32_t batch) { return batch == 64 ? 1.9 : 1.0; }));
  CHECK(found.contradictions.empty());
}

TEST_CASE("Contradictions: one odd time among operators of the same shape") {
  Profile profile;
  for (int layer = 0; layer < 6; ++layer) {
    add_in_network(profile, "net", layer, 16, layer == 3 ? 5.0 : 1.0 + 0.01 * layer, 512);
  }
  const Found found = find_in(profile);
  REQUIRE(found.contradictions.size() == 1);
  CHECK(found.contradictions[0].sample == 3);
  CHECK(found.contradictions[0].factor == Approx(4.9).epsilon(0.05));
}

}  // namespace
}  // namespace dfsim
