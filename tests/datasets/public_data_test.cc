// The readers of the public data sets: fixtures by hand, and the real files with DFSIM_SHARED.
#include <catch2/catch.hpp>

#include "datasets/importers/importer.h"
#include "tests/datasets/test_files.h"

namespace dfsim {
namespace {

Profile import_text(std::string_view format, std::string_view name, std::string_view content,
                    DropReport* drops, const ProfileImportOptions& options = {}) {
  const ScratchFolder folder;
  const std::string path = folder.write(name, content);
  auto profile = import_profiles(format, std::span(&path, 1), options, drops);
  if (!profile.ok()) {
    FAIL(profile.status().message());
  }
  return std::move(profile).value();
}

std::string inputs(const Profile& profile, size_t i) {
  return format_tensors(profile.tensors(profile.row(i).inputs));
}
std::string outputs(const Profile& profile, size_t i) {
  return format_tensors(profile.tensors(profile.row(i).outputs));
}
const std::string& attributes(const Profile& profile, size_t i) {
  return profile.text(profile.row(i).attributes);
}
const std::string& op_type(const Profile& profile, size_t i) {
  return profile.text(profile.row(i).op_type);
}

constexpr std::string_view kNeusightHeader =
    "split,op,device,torch,cuda,latency_ms,B,M,N,K,H,Cin,Cout,ksize,in_size,stride,pad,kernel,"
    "n_kernels\n";

TEST_CASE("neusight rows become ONNX operands") {
  DropReport drops;
  const Profile profile =
      import_text("neusight", "n.csv",
                  std::string(kNeusightHeader) +
                      "train,linear,T4,p2.1.0,cu121,0.5,2,58,13,141,,,,,,,,k1,1\n"
                      "train,bmm,T4,p2.1.0,cu121,0.25,6,27,21,390,,,,,,,,k2,1\n"
                      "train,conv,T4,p2.1.0,cu121,0.125,5,,,,,119,758,3,24,2,1,\"a,b\",2\n"
                      "train,addu,T4,p2.4.1,,0.001,127,,,,168,,,,,,,,1\n"
                      "train,ln,T4,p2.4.1,,0.001,60,,,,272,,,,,,,,1\n"
                      "train,flip,T4,p2.4.1,,0.001,60,,,,272,,,,,,,,1\n"
                      "train,relu,T4,p2.4.1,,0.001,60,,,,-3,,,,,,,,1\n"
                      "train,relu,T4,p2.4.1,,nan,60,,,,3,,,,,,,,1\n",
                  &drops);
  REQUIRE(profile.size() == 5);
  CHECK(op_type(profile, 0) == "Gemm");
  CHECK(inputs(profile, 0) == "float32[116x13];float32[141x13];float32[141]");
  CHECK(outputs(profile, 0) == "float32[116x141]");
  CHECK(attributes(profile, 0) == "transA=0;transB=1");
  CHECK(profile.row(0).time_ns == 500000);
  CHECK(profile.text(profile.row(0).runtime_version) == "2.1.0+cu121");
  CHECK(profile.row(0).timing == TimingKind::kLaunchInclusive);
  CHECK(inputs(profile, 1) == "float32[6x27x21];float32[6x21x390]");
  CHECK(outputs(profile, 1) == "float32[6x27x390]");
  CHECK(inputs(profile, 2) == "float32[5x119x24x24];float32[758x119x3x3]");
  CHECK(outputs(profile, 2) == "float32[5x758x12x12]");
  CHECK(attributes(profile, 2) ==
        "dilations=1,1;group=1;kernel_shape=3,3;pads=1,1,1,1;strides=2,2");
  CHECK(profile.text(profile.row(2).kernel) == "a,b");
  CHECK(inputs(profile, 3) == "float32[127x168];float32[]");
  CHECK(inputs(profile, 4) == "float32[60x272];float32[272];float32[272]");
  CHECK(drops.count(DropReason::kMalformed) == 2);
  CHECK(drops.count(DropReason::kNotANumber) == 1);
}

TEST_CASE("aiconfigurator tables: GEMM, attention, collectives") {
  DropReport drops;
  const Profile gemm =
      import_text("aiconfigurator", "gemm.csv",
                  "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
                  "VLLM,0.24.0,H100,gemm,lin,bfloat16,8,64,32,0.0025\n"
                  "VLLM,0.24.0,H100,gemm,lin,int4_wo,8,64,32,0.0025\n"
                  "VLLM,0.24.0,H100,gemm,lin,fp7,8,64,32,0.0025\n",
                  &drops);
  REQUIRE(gemm.size() == 2);
  CHECK(inputs(gemm, 0) == "bfloat16[8x32];bfloat16[64x32]");
  CHECK(outputs(gemm, 0) == "bfloat16[8x64]");
  CHECK(gemm.row(0).time_ns == 2500);
  CHECK(gemm.text(gemm.row(0).runtime) == "vllm");
  CHECK(inputs(gemm, 1) == "float16[8x32];int4[64x32]");
  CHECK(gemm.dtype(gemm.row(1)) == DType::kFloat16);
  CHECK(attributes(gemm, 1) == "quant=weight-only;transA=0;transB=1");
  CHECK(drops.total() == 1);

  const Profile attention = import_text(
      "aiconfigurator", "attention.csv",
      "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,"
      "num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step,window_size,latency\n"
      "VLLM,1,H,context_attention,k,4,512,64,8,128,1,bfloat16,fp8,0,128,1.5\n"
      "VLLM,1,H,generation_attention,k,32,1,64,8,128,1,bfloat16,bfloat16,127,0,0.5\n",
      &drops);
  CHECK(inputs(attention, 0) ==
        "bfloat16[4x64x512x128];float8e4m3[4x8x512x128];float8e4m3[4x8x512x128]");
  CHECK(attributes(attention, 0) == "causal=1;kind=context;kv_heads=8;window=128");
  CHECK(inputs(attention, 1) ==
        "bfloat16[32x64x1x128];bfloat16[32x8x128x128];bfloat16[32x8x128x128]");

  const Profile nccl = import_text("aiconfigurator", "nccl.csv",
                                   "framework,version,device,op_name,kernel_source,nccl_dtype,"
                                   "num_gpus,message_size,latency\n"
                                   "TRTLLM,2,H,alltoall,NCCL,half,8,256,0.00898\n",
                                   &drops);
  CHECK(op_type(nccl, 0) == "AllToAll");
  CHECK(inputs(nccl, 0) == "float16[256]");
  CHECK(attributes(nccl, 0) == "ranks=8");
  CHECK(nccl.row(0).op_class == OpClass::kCollective);
}

TEST_CASE("vidur lines hold one op per group of columns") {
  DropReport drops;
  std::string header;
  std::string values;
  for (const char* op : {"emb", "input_layernorm", "attn_pre_proj", "attn_post_proj", "mlp_up_proj",
                         "mlp_act", "mlp_down_proj", "add", "strange"}) {
    header += std::string("time_stats.") + op + ".median,time_stats." + op + ".std,";
    values += "0.25,0.0005,";
  }
  header +=
      "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,"
      "num_tensor_parallel_workers\n";
  values += "32,8,4096,11008,32000,True,7,4\n";
  const Profile profile =
      import_text("vidur", "compute/a100/org/llama/mlp.csv", header + values, &drops);
  REQUIRE(profile.size() == 8);
  CHECK(profile.text(profile.row(0).device) == "NVIDIA A100 80GB");
  CHECK(profile.row(0).spread_ns == 500);
  CHECK(inputs(profile, 0) == "float16[8000x4096];int64[7]");
  CHECK(op_type(profile, 1) == "RMSNormalization");
  CHECK(inputs(profile, 2) == "float16[7x4096];float16[1536x4096]");  // (32 + 2*8)/4 heads of 128
  CHECK(inputs(profile, 3) == "float16[7x1024];float16[4096x1024]");
  CHECK(inputs(profile, 4) == "float16[7x4096];float16[5504x4096]");
  CHECK(outputs(profile, 5) == "float16[7x2752]");
  CHECK(inputs(profile, 6) == "float16[7x2752];float16[4096x2752]");
  CHECK(drops.count(DropReason::kUnsupported) == 1);

  const Profile network = import_text(
      "vidur", "network/h100_dgx/all_reduce.csv",
      ",time_stats.all_reduce.median,time_stats.all_reduce.std,rank,num_workers,size,collective\n"
      "0,0.03,0.01,0,8,2048,all_reduce\n",
      &drops);
  CHECK(inputs(network, 0) == "float16[1024]");
  CHECK(attributes(network, 0) == "ranks=8");
  CHECK(network.text(network.row(0).device) == "NVIDIA H100");
}

TEST_CASE("tinynas lines, the dtype from the file's name") {
  DropReport drops;
  const Profile profile = import_text("tinynas", "conv_data.out.fp16",
                                      "{Regular,128,3,480,480,192,7,2,1} 30.5\n"
                                      "{Regular,128,3,480,480,160,7,2,1} -1\n"
                                      "{Depthwise,2,8,15,14,8,3,2,0} 0.01\n"
                                      "{Sparse,2,8,15,14,8,3,2,0} 0.01\n"
                                      "{Regular,2,8,15} 0.01\n",
                                      &drops);
  REQUIRE(profile.size() == 2);
  CHECK(inputs(profile, 0) ==
        "float16[128x3x480x480];float16[192x3x7x7];none;float16[128x192x240x240]");
  CHECK(attributes(profile, 0) ==
        "dilations=1,1;fused=Add;group=1;kernel_shape=7,7;pads=3,3,3,3;strides=2,2");
  CHECK(inputs(profile, 1) == "float16[2x8x15x14];float16[8x1x3x3]");
  CHECK(outputs(profile, 1) == "float16[2x8x8x7]");
  CHECK(drops.count(DropReason::kNegative) == 1);
  CHECK(drops.count(DropReason::kMalformed) == 2);
}

struct RealFile {
  const char* format;
  const char* path;
  size_t rows;
  int64_t dropped;
};

TEST_CASE("the real public files are read in full") {
  if (shared_file("").empty()) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  // Rows counted with zcat and wc; dropped are the -1 of TinyNAS.
  constexpr RealFile kFiles[] = {
      {"neusight", "data/neusight/neusight_ops_train.csv.gz", 296556, 0},
      {"aiconfigurator", "data/aiconfigurator/h200_sxm/gemm/vllm/0.24.0/gemm_perf.csv.gz", 86579,
       0},
      {"aiconfigurator", "data/aiconfigurator/a100_sxm/gemm/trtllm/1.0.0/gemm_perf.csv.gz", 22008,
       0},
      {"aiconfigurator",
       "data/aiconfigurator/h100_sxm/attention/vllm/0.24.0/context_attention_perf.csv.gz", 50830,
       0},
      {"aiconfigurator",
       "data/aiconfigurator/h100_sxm/encoder_attention/vllm/0.24.0/encoder_attention_perf.csv.gz",
       7679, 0},
      {"aiconfigurator", "data/aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv.gz", 504, 0},
      {"vidur", "data/vidur/profiling/compute/a100/meta-llama/Llama-2-7b-hf/mlp.csv.gz", 10440, 0},
      {"vidur", "data/vidur/profiling/network/a100_dgx/all_reduce.csv.gz", 6958, 0},
      {"tinynas", "data/alibaba_tinynas_v100/conv_data.out.gz", 95256, 5984},
      {"tinynas", "data/alibaba_tinynas_v100/conv_data.out.int8.gz", 89955, 873},
  };
  for (const RealFile& file : kFiles) {
    CAPTURE(file.path);
    DropReport drops;
    const std::string path = shared_file(file.path);
    const auto profile = import_profiles(file.format, std::span(&path, 1), {}, &drops);
    REQUIRE(profile.ok());
    CHECK(profile->size() == file.rows);
    CHECK(drops.total() == file.dropped);
  }
}

TEST_CASE("an unknown format names the nearest") {
  const std::string path = "x";
  DropReport drops;
  const auto profile = import_profiles("neusigth", std::span(&path, 1), {}, &drops);
  REQUIRE_FALSE(profile.ok());
  CHECK(profile.status().message().find("did you mean 'neusight'") != std::string::npos);
}

}  // namespace
}  // namespace dfsim
