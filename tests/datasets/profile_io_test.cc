#include "datasets/profiles/profile_io.h"

#include <catch2/catch.hpp>

#include "base/io/text_file.h"
#include "datasets/importers/tensor_lists.h"
#include "tests/datasets/test_files.h"

namespace dfsim {
namespace {

// A profile with every column filled in its first row and as few as possible in its second.
Profile sample() {
  Profile profile;
  ProfileRow row;
  row.time_ns = 123456;
  row.spread_ns = 7;
  row.device = profile.intern("GPU, \"big\"");
  row.runtime = profile.intern("pytorch");
  row.runtime_version = profile.intern("2.1.0");
  row.op_type = profile.intern("Conv");
  row.attributes = profile.intern("group=1;pads=1,1,1,1");
  row.name = profile.intern("layer1/conv\\1");
  row.kernel = profile.intern("void k<float>()");
  row.network = profile.intern("resnet50");
  row.provenance = profile.intern("test");
  row.inputs = profile.intern({tensor(DType::kFloat16, {1, 3, 8, 8}, "NC1HWC0")});
  row.outputs = profile.intern({tensor(DType::kFloat16, {1, 4, 8, 8})});
  row.samples = 25;
  row.count = 3;
  row.batch = 32;
  row.op_class = OpClass::kConv;
  row.timing = TimingKind::kInNetwork;
  row.compute_dtype = DType::kFloat32;
  profile.add(row);
  ProfileRow bare;
  bare.time_ns = 1;
  bare.device = profile.intern("cpu");
  bare.op_type = profile.intern("Foo");
  profile.add(bare);
  return profile;
}

std::string text_of(const Profile& profile, const ScratchFolder& folder, const std::string& name) {
  REQUIRE(write_profile(profile, folder.file(name)).ok());
  return *read_text_file(folder.file(name), 1 << 20);
}

TEST_CASE("Profile files: every format reads back what was written") {
  const ScratchFolder folder;
  const std::string expected = text_of(sample(), folder, "a.csv");
  for (const std::string name :
       {"b.csv", "b.csv.gz", "b.csv.xz", "b.jsonl", "b.jsonl.gz", "b.jsonl.xz"}) {
    CAPTURE(name);
    REQUIRE(write_profile(sample(), folder.file(name)).ok());
    DropReport drops;
    const auto back = read_profile(folder.file(name), &drops);
    REQUIRE(back.ok());
    CHECK(drops.total() == 0);
    CHECK(text_of(*back, folder, "again.csv") == expected);
  }
}

TEST_CASE("Profile files: packed output is deterministic and smaller") {
  const ScratchFolder folder;
  Profile profile;
  for (int i = 0; i < 200; ++i) {
    profile.append(sample());
  }
  REQUIRE(write_profile(profile, folder.file("c.csv")).ok());
  const std::string end = GENERATE(".csv.gz", ".csv.xz");
  CAPTURE(end);
  REQUIRE(write_profile(profile, folder.file("a" + end)).ok());
  REQUIRE(write_profile(profile, folder.file("b" + end)).ok());
  const auto a = read_file(folder.file("a" + end), 1 << 20);
  CHECK(*a == *read_file(folder.file("b" + end), 1 << 20));
  CHECK(a->size() * 5 < read_file(folder.file("c.csv"), 1 << 20)->size());
}

constexpr std::string_view kHeader = "device,op_type,inputs,time_ns\n";

TEST_CASE("Profile files: bad rows are dropped and reported with their numbers and reasons") {
  const ScratchFolder folder;
  const std::string path = folder.write("p.csv", std::string(kHeader) +
                                                     "gpu,Relu,float32[4],10\n"  // line 2
                                                     "gpu,Relu,float32[4],nan\n"
                                                     "gpu,Relu,float32[4],-1\n"
                                                     "gpu,Relu,float32[4],0\n"
                                                     "gpu,Relu,float32[4],soon\n"
                                                     "gpu,Relu,flot32[4],10\n"
                                                     "gpu,Relu,10\n"
                                                     "gpu,\"Relu,float32[4],10\n"
                                                     "gpu,,float32[4],10\n"
                                                     "gpu,Relu,,12.6\n");
  DropReport drops;
  const auto profile = read_profile(path, &drops);
  REQUIRE(profile.ok());
  REQUIRE(profile->size() == 2);
  CHECK(profile->row(1).time_ns == 13);
  CHECK(profile->row(1).source_row == 11);
  CHECK(drops.count(DropReason::kNotANumber) == 2);
  CHECK(drops.count(DropReason::kNegative) == 1);
  CHECK(drops.count(DropReason::kZero) == 1);
  CHECK(drops.count(DropReason::kMalformed) == 4);
  CHECK(drops.total() == 8);
  REQUIRE(drops.entries().size() == 8);
  CHECK(drops.entries()[0].row == 3);
  CHECK(drops.entries()[4].message.find("flot32[4]") != std::string::npos);
  CHECK(drops.entries()[5].message == "3 columns, expected 4");
  CHECK(drops.summary() == "2 not-a-number, 1 negative, 1 zero, 4 malformed");
}

TEST_CASE("Profile files: a file in another format gives one clear error") {
  const ScratchFolder folder;
  const auto message = [&folder](std::string_view content) {
    DropReport drops;
    const auto profile = read_profile(folder.write("bad.csv", content), &drops);
    REQUIRE_FALSE(profile.ok());
    return profile.status().message();
  };
  CHECK(message("").find("is empty") != std::string::npos);
  CHECK(message(kHeader).find("no rows") != std::string::npos);
  CHECK(message("device,op_typ,inputs,time_ns\n").find("did you mean 'op_type'?") !=
        std::string::npos);
  CHECK(message("device,op_type,inputs\n").find("'time_ns' is missing") != std::string::npos);
  CHECK(message("device,device,op_type,inputs,time_ns\n").find("twice") != std::string::npos);
  CHECK(message(std::string("a\0b", 3)).find("binary") != std::string::npos);
  CHECK(message("{\"device\":\"x\",\"oops\":1}\n").find("oops") != std::string::npos);
  CHECK(message("{\"device\":\n").find("not a JSON object") != std::string::npos);
  CHECK(message(std::string(kHeader) + std::string(3 << 20, 'x')).find("longer than") !=
        std::string::npos);
  DropReport drops;
  CHECK(read_profile(folder.file("nothing.csv"), &drops).status().code() == StatusCode::kNotFound);
  CHECK_FALSE(read_profile(folder.file("."), &drops).ok());
}

TEST_CASE("Profile files: truncated and damaged packed files are errors, not fewer rows") {
  const ScratchFolder folder;
  Profile profile;
  for (int i = 0; i < 2000; ++i) {
    ProfileRow row;
    row.time_ns = 1 + i * i;
    row.device = profile.intern("gpu");
    row.op_type = profile.intern("Op" + std::to_string(i * 7919 % 1000));
    profile.add(row);
  }
  const std::string end = GENERATE(".csv.gz", ".csv.xz");
  CAPTURE(end);
  REQUIRE(write_profile(profile, folder.file("p" + end)).ok());
  std::string bytes = *read_file(folder.file("p" + end), 1 << 24);
  DropReport drops;
  const auto cut =
      read_profile(folder.write("cut" + end, bytes.substr(0, bytes.size() / 2)), &drops);
  REQUIRE_FALSE(cut.ok());
  CHECK(cut.status().message().find("ends too early") != std::string::npos);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
  CHECK_FALSE(read_profile(folder.write("bad" + end, bytes), &drops).ok());
}

TEST_CASE("Profile files: rows faster than half of their bound are dropped") {
  Profile profile = sample();
  DropReport drops;
  drop_impossible(
      profile,
      [](const Profile& p, const ProfileRow& row) {
        return p.text(row.op_type) == "Conv" ? 2.0 * 123456 : 2.1;
      },
      "p.csv", &drops);
  REQUIRE(profile.size() == 1);  // exactly half is kept
  CHECK(profile.text(profile.row(0).op_type) == "Conv");
  CHECK(drops.count(DropReason::kImpossible) == 1);
}

}  // namespace
}  // namespace dfsim
