#include <algorithm>
#include <catch2/catch.hpp>

#include "datasets/importers/importer.h"
#include "datasets/importers/mindspore/mindspore_folders.h"
#include "datasets/importers/mindspore/mindspore_op_info.h"
#include "datasets/importers/op_names.h"
#include "tests/datasets/test_files.h"

namespace dfsim {
namespace {

constexpr std::string_view kInfo =
    R"({"input_0":{"format":"NCHW","data_type":"NUMBER_TYPE_FLOAT16","shape":"2,3"},)"
    R"("output_0":{"format":"DefaultFormat","data_type":"NUMBER_TYPE_INT32","shape":""}})";

// A run of one op, whose op_info cell contains `info` verbatim.
Profile one_op(std::string_view header, std::string_view info,
               const ProfileImportOptions& options = {}, std::string_view folder = "net_bs4") {
  const ScratchFolder scratch;
  const std::string base(folder);
  scratch.write(base + "/framework_raw_0.csv",
                std::string(header) + "1,2,8,Default/a/ReLU-op1,ReLU-op1,ReLU,Default," +
                    std::string(info) + "\n");
  scratch.write(base + "/aicore_intermediate_0_detail.csv", "Default/a/ReLU-op1,0.5\n");
  const std::string path = scratch.file("");
  DropReport drops;
  auto profile = import_profiles("mindspore", std::span(&path, 1), options, &drops);
  if (!profile.ok()) {
    FAIL(profile.status().message());
  }
  CHECK(drops.total() == 0);
  REQUIRE(profile->size() == 1);
  return std::move(profile).value();
}

TEST_CASE("MindSpore: a profiler directory becomes a profile") {
  const std::string path = fixture("mindspore");
  DropReport drops;
  const auto imported = import_profiles("mindspore", std::span(&path, 1), {}, &drops);
  REQUIRE(imported.ok());
  const Profile& p = *imported;
  REQUIRE(p.size() == 8);
  const auto in = [&p](size_t i) { return format_tensors(p.tensors(p.row(i).inputs)); };
  CHECK(p.text(p.row(0).op_type) == "Conv");
  CHECK(p.text(p.row(0).network) == "resnet50");
  CHECK(p.row(0).batch == 32);
  CHECK(p.row(0).time_ns == 260000);  // median of three steps
  CHECK(p.row(0).samples == 3);
  CHECK(p.row(0).spread_ns == 26458);  // of 250, 260, 300 us: sqrt(1400/2) us
  CHECK(in(0) == "float16[32x3x224x224];float16[64x3x7x7]");
  CHECK(p.text(p.row(0).attributes) ==
        "dilations=1,1;group=1;kernel_shape=7,7;pads=3,3,3,3;strides=2,2");
  CHECK(p.text(p.row(1).op_type) == "BNTrainingUpdate");
  CHECK(p.row(1).op_class == OpClass::kNorm);
  CHECK(p.row(1).spread_ns == -1);
  CHECK(p.row(2).op_class == OpClass::kDataMovement);
  CHECK(in(2) == "float16[32x3x224x224]");
  CHECK(p.text(p.row(3).attributes) == "transA=0;transB=1");
  CHECK(in(4) == "float32[];float32[32]");
  CHECK(p.row(5).op_class == OpClass::kOptimizer);
  CHECK(in(5) == "float32[1008x2048]");
  CHECK(p.text(p.row(6).op_type) == "MyCustomOp");
  CHECK(p.row(6).op_class == OpClass::kOpaque);
  CHECK(p.text(p.row(7).op_type) == "Relu");  // timed, but not in framework_raw
  CHECK(p.text(p.row(7).name) == "Default/network/ReLU-op99");
  CHECK(drops.count(DropReason::kNoTime) == 1);
  CHECK(drops.count(DropReason::kZero) == 1);
  CHECK(drops.total() == 2);
}

TEST_CASE("MindSpore: op_info may be quoted in any style, with or without a header") {
  std::string doubled;
  for (const char c : kInfo) {
    doubled += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  std::string python(kInfo);
  std::replace(python.begin(), python.end(), '"', '\'');
  const std::string header =
      "task_id,stream_id,block_dim,full_op_name,op_name,op_type,subgraph,op_info\n";
  const std::string titled =
      "\xEF\xBB\xBFTask ID,Stream ID,Block Dim,Full OP Name,OP Name,OP Type,Subgraph,OP Info\r\n";
  for (const std::string& first : {std::string(), header, titled}) {
    for (const std::string& info :
         {"\"" + doubled + "\"", std::string(kInfo), "\"" + std::string(kInfo) + "\"",
          "\"" + python + "\"", "\"" + doubled + "\",extra,7"}) {
      CAPTURE(first, info);
      const Profile p = one_op(first, info);
      CHECK(format_tensors(p.tensors(p.row(0).inputs)) == "float16[2x3]@NCHW");
      CHECK(format_tensors(p.tensors(p.row(0).outputs)) == "int32[]");
      CHECK(p.row(0).time_ns == 500000);
      CHECK(p.text(p.row(0).network) == "net");
      CHECK(p.row(0).batch == 4);
    }
  }
}

TEST_CASE("MindSpore: options override the names of directories") {
  ProfileImportOptions options;
  options.device = "Ascend 910B";
  options.network = "bert";
  options.batch = 7;
  const Profile p = one_op("", kInfo, options);
  CHECK(p.text(p.row(0).network) == "bert");
  CHECK(p.row(0).batch == 7);
  CHECK(p.text(p.row(0).device) == "Ascend 910B");
}

TEST_CASE("MindSpore: nested directories give the network and the batch") {
  for (const char* folder :
       {"resnet50/bs32", "resnet50/32", "resnet50_bs32/device_0", "resnet50-batch-32/profiler",
        "resnet50_batch_size_32/PROF_000001_2022", "resnet50/batchsize32/profiler-20221010"}) {
    CAPTURE(folder);
    const Profile p = one_op("", kInfo, {}, folder);
    CHECK(p.text(p.row(0).network) == "resnet50");
    CHECK(p.row(0).batch == 32);
  }
}

TEST_CASE("MindSpore: the name of a directory gives the network and the batch") {
  struct Case {
    const char* name;
    const char* network;
    int32_t batch;
  };
  for (const Case& c :
       {Case{"resnet50_bs32", "resnet50", 32}, Case{"ResNet50-BS128", "ResNet50", 128},
        Case{"vit_b_16", "vit_b_16", 0}, Case{"vit_b_16_b8", "vit_b_16", 8},
        Case{"deepfm_16000", "deepfm", 16000}, Case{"resnet_50", "resnet_50", 0},
        Case{"inception_v3", "inception_v3", 0}, Case{"bs32", "", 32}, Case{"64", "", 64},
        Case{"bert_batch_size_16_fp16", "bert", 16}, Case{"profiler", "", 0},
        Case{"device_0", "", 0}, Case{"bert", "bert", 0}, Case{"", "", 0}}) {
    CAPTURE(c.name);
    CHECK(read_folder_name(c.name).network == c.network);
    CHECK(read_folder_name(c.name).batch == c.batch);
  }
}

// Python-like quotes keep these readable; the parser takes them too.
constexpr std::string_view kUnusual =
    "{'input_1':{'shape':[4, 5],'data_type':'Float16'},'attr_x':3,"
    "'input_0':{'shape':'(7,)'},'output_0':{'shape':'[1, -1]'}}";

TEST_CASE("OpInfoParser: accepts unusual shapes and refuses other text") {
  OpInfoParser parser;
  TensorList in;
  TensorList out;
  CHECK(parser.parse(kUnusual, &in, &out).empty());
  CHECK(format_tensors(in) == "unknown[7];float16[4x5]");
  CHECK(format_tensors(out) == "unknown[1x?]");
  in.clear();
  CHECK(parser.parse("{'input_2':{'shape':'1'}}", &in, &out).empty());
  CHECK(format_tensors(in) == "none;none;unknown[1]");
  for (const char* bad : {"{", "[]", "{'input_0':3}", "{'input_0':{'shape':'a,b'}}",
                          "{'input_99999999':{}}", "{'input_0':{'shape':[1.5]}}"}) {
    CAPTURE(bad);
    CHECK_FALSE(parser.parse(bad, &in, &out).empty());
  }
}

TEST_CASE("MindSpore: op types of Ascend map to classes") {
  CHECK(mindspore_op("Conv2D").op_type == "Conv");
  CHECK(mindspore_op("MatMulV2").op_type == "MatMul");
  CHECK(mindspore_op("ReduceSumD").op_class == OpClass::kReduce);
  CHECK(mindspore_op("relu").op_type == "Relu");
  CHECK(mindspore_op("ApplyMomentum").op_class == OpClass::kOptimizer);
  CHECK(mindspore_op("Conv2DBackpropFilterD").op_class == OpClass::kConv);
  CHECK(mindspore_op("FusionOp_Conv2D_ReLU").op_class == OpClass::kConv);
  CHECK(mindspore_op("Fused_Add_ReduceSum_split").op_class == OpClass::kReduce);
  CHECK(mindspore_op("Whatever").op_class == OpClass::kOpaque);
  CHECK(mindspore_op("").op_class == OpClass::kOpaque);
}

TEST_CASE("MindSpore: runs in the same directory are distinguished by their numbers or names") {
  const ScratchFolder scratch;
  const auto write = [&](const std::string& folder, const std::string& run) {
    scratch.write(folder + "/framework_raw_" + run + ".csv",
                  "1,2,8,Default/a/ReLU-op1,ReLU-op1,ReLU,Default," + std::string(kInfo) + "\n");
    scratch.write(folder + "/aicore_intermediate_" + run + "_detail.csv",
                  "Default/a/ReLU-op1,0.5\n");
  };
  const auto runs_in = [&](const std::string& folder) {
    const auto runs = find_mindspore_runs(scratch.file(folder));
    REQUIRE(runs.ok());
    std::vector<std::pair<std::string, int32_t>> found;
    for (const MindsporeRun& run : *runs) {
      found.emplace_back(run.network, run.batch);
    }
    return found;
  };
  using Runs = std::vector<std::pair<std::string, int32_t>>;
  write("mixed", "1");
  write("mixed", "2");
  CHECK(runs_in("mixed") == Runs{{"mixed#1", 0}, {"mixed#2", 0}});
  write("named", "resnet50_bs32");
  write("named", "bert_bs8");
  CHECK(runs_in("named") == Runs{{"bert", 8}, {"resnet50", 32}});
  write("vit_bs16", "0");  // two devices of one run
  write("vit_bs16", "1");
  CHECK(runs_in("vit_bs16") == Runs{{"vit", 16}, {"vit", 16}});
}

TEST_CASE("MindSpore: a directory without the profiler's files is an error") {
  const ScratchFolder scratch;
  DropReport drops;
  scratch.write("a/framework_raw_0.csv", "1,2,3,n,n,t,s,\n");
  for (const std::string& path : {scratch.file("nothing"), scratch.file("a"),
                                  scratch.write("b/readme.txt", "x"), scratch.file("b")}) {
    CAPTURE(path);
    const auto profile = import_profiles("mindspore", std::span(&path, 1), {}, &drops);
    CHECK_FALSE(profile.ok());
  }
}

}  // namespace
}  // namespace dfsim
