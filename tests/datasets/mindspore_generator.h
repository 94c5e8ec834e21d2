// Profiles as MindSpore's profiler writes them on Ascend, made from a small convolutional network:
// a training step with blocked formats, casts, split batch normalisation, gradients and updates.
//
// Columns, quoting, names, formats and shifted tables of types follow public profiles and the
// profiler's sources (mindspore-ai/mindinsight, tests/utils/resource;
// mindspore/profiler/parser/framework_parser.py). The generator shares no code with the reader.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/datasets/test_files.h"

namespace dfsim {

enum class MsType { kBool, kInt32, kUInt8, kFloat16, kFloat32 };

struct MsTensor {
  MsType type = MsType::kFloat16;
  std::vector<int64_t> extents;  // logical
  std::string format = "DefaultFormat";
};

struct MsOp {
  std::string scope;
  std::string type;
  std::vector<MsTensor> inputs;
  std::vector<MsTensor> outputs;
  double time_us = 0;
};

enum class MsFiles { kPair, kKernelPair, kJoined, kSummary };

class MindsporeGenerator {
 public:
  int batch = 4;
  int type_shift = 0;       // of the profiler's table: a name's place = the type's + shift
  bool logical_not = true;  // an operator on booleans
  bool transdata = true;    // says that images have 3 channels
  MsFiles files = MsFiles::kPair;

  std::vector<MsOp> ops() const {
    std::vector<MsOp> list;
    const std::string net = "Default/network-TrainOneStepCell/network-WithLossCell/_backbone-Net/";
    const std::string back = "Gradients/" + net;
    const MsTensor image = blocked(MsType::kFloat32, {batch, 3, 64, 64});
    if (transdata) {
      list.push_back({"Default/", "TransData", {{MsType::kFloat32, image.extents}}, {image}, 9});
    }
    list.push_back({net + "conv1/", "Cast", {image}, {as(image, MsType::kFloat16)}, 4});
    add_conv(&list, net, back, "conv1", {batch, 3, 64, 64}, {32, 3, 7, 7}, {batch, 32, 32, 32});
    add_conv(&list, net, back, "conv2", {batch, 32, 32, 32}, {64, 32, 1, 1}, {batch, 64, 32, 32});
    add_conv(&list, net, back, "conv3", {batch, 64, 32, 32}, {64, 64, 3, 3}, {batch, 64, 16, 16});
    add_pool(&list, net, back);
    add_dense(&list, net, back);
    if (logical_not) {
      const MsTensor flag = {MsType::kBool, {1}};
      list.push_back({"Default/", "LogicalNot", {flag}, {flag}, 1.5});
    }
    const MsTensor step = {MsType::kInt32, {1}};
    list.push_back({"Default/", "AssignAdd", {step, step}, {step}, 1.2});
    return list;
  }

  // Writes the run into `folder` (of `scratch`); `label` is the N of framework_raw_N.
  void write(const ScratchFolder& scratch, const std::string& folder,
             const std::string& label = "0") const {
    std::string framework = files == MsFiles::kKernelPair
                                ? "task_id,stream_id,block_dim,full_kernel_name,kernel_name,"
                                  "kernel_type,subgraph,op_info,graph_id,kernel_id\n"
                                : "task_id,stream_id,block_dim,full_op_name,op_name,op_type,"
                                  "subgraph,op_info\n";
    std::string detail = files == MsFiles::kKernelPair
                             ? "full_kernel_name,task_duration,execution_frequency,task_type\n"
                             : "full_op_name,execution_time\n";
    std::string joined = "op_name,op_type,avg_execution_time,subgraph,full_op_name,op_info\n";
    std::string summary =
        "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start "
        "Time(us),Task Duration(us),Task Wait Time(us),Block Dim,Input Shapes,Input Data Types,"
        "Input Formats,Output Shapes,Output Data Types,Output Formats\n";
    const std::vector<MsOp> list = ops();
    for (size_t i = 0; i < list.size(); ++i) {
      const MsOp& op = list[i];
      const std::string name = fmt::format("{}-op{}", op.type, i + 1);
      const std::string full = op.scope + name;
      const std::string part = full.substr(0, full.find('/'));
      const std::string info = quoted(info_of(op));
      framework += fmt::format("{},519,32,{},{},{},{},{}\n", i, full, name, op.type, part, info);
      detail += fmt::format("{},{:.6g}", full, op.time_us / 1000);
      detail += files == MsFiles::kKernelPair ? ",1,AI_CORE\n" : "\n";
      joined += fmt::format("{},{},{:.6g},{},{},{}\n", name, op.type, op.time_us / 1000, part, full,
                            info);
      summary += fmt::format(
          "0,1,{},519,{},{},static,AI_CORE,{},{:.6g},0.1,32,\"{}\",{},{},\"{}\",{},{}\n", i, full,
          op.type, i * 100, op.time_us, shapes_of(op.inputs), cann_types(op.inputs),
          formats_of(op.inputs), shapes_of(op.outputs), cann_types(op.outputs),
          formats_of(op.outputs));
    }
    if (files == MsFiles::kJoined) {
      scratch.write(folder + "/" + label + ".csv", joined);
    } else if (files == MsFiles::kSummary) {
      scratch.write(folder + "/op_summary_" + label + ".csv", summary);
    } else {
      scratch.write(folder + "/framework_raw_" + label + ".csv", framework);
      scratch.write(folder + "/aicore_intermediate_" + label + "_detail.csv", detail);
      scratch.write(folder + "/aicore_intermediate_" + label + "_type.csv",
                    "op_type,execution_time,execution_frequency,percent\nCast,0.1,2,1.0\n");
      scratch.write(folder + "/aicpu_intermediate_" + label + ".csv",
                    "serial_number,op_type,total_time,dispatch_time,run_start,run_end\n"
                    "1,InitData,7.9,0.15,154901853050,154901853210\n");
      scratch.write(folder + "/minddata_pipeline_raw_" + label + ".csv",
                    "op_id,op_type,num_workers,output_queue_size\n0,Batch,4,NA\n");
    }
  }

  static MsTensor as(MsTensor tensor, MsType type) {
    tensor.type = type;
    return tensor;
  }
  static MsTensor blocked(MsType type, std::vector<int64_t> extents) {
    return {type, std::move(extents), "NC1HWC0"};
  }

 private:
  static constexpr int kBlock = 16;
  static int64_t blocks(int64_t extent) { return (extent + kBlock - 1) / kBlock; }

  static void add_conv(std::vector<MsOp>* list, const std::string& net, const std::string& back,
                       const std::string& name, const std::vector<int64_t>& x,
                       const std::vector<int64_t>& w, const std::vector<int64_t>& y) {
    const MsTensor in = blocked(MsType::kFloat16, x);
    const MsTensor out = blocked(MsType::kFloat16, y);
    const MsTensor weight = {MsType::kFloat16, w, "FracZ"};
    const MsTensor updated = as(weight, MsType::kFloat32);
    const MsTensor sum = blocked(MsType::kFloat32, {1, y[1], 1, 1});
    const MsTensor mask = {MsType::kUInt8, {y[0], blocks(y[1]), y[2], y[3], 2}};
    const double flops = 2.0 * static_cast<double>(y[0] * y[1] * y[2] * y[3] * w[1] * w[2] * w[3]);
    const double products_us = 2 + flops / 60e6;  // 60 TFLOP/s
    const double rows_us = 2 + static_cast<double>(y[0] * y[1] * y[2] * y[3]) * 4 / 0.9e6;
    list->push_back({net + name + "/", "Cast", {updated}, {weight}, 3});
    list->push_back({net + name + "/", "Conv2D", {in, weight}, {out}, products_us});
    list->push_back({net + name + "-bn/", "BNTrainingReduce", {out}, {sum, sum}, rows_us / 2});
    list->push_back({net + name + "-bn/",
                     "BNTrainingUpdate",
                     {out, sum, sum, sum, sum},
                     {out, sum, sum, sum, sum},
                     rows_us});
    list->push_back({net + name + "-relu/", "ReLUV2", {out}, {out, mask}, rows_us});
    list->push_back({back + name + "/gradReLU/", "ReluGradV2", {out, mask}, {out}, rows_us});
    list->push_back(
        {back + name + "/gradConv2D/", "Conv2DBackpropFilter", {out, in}, {updated}, products_us});
    list->push_back(
        {back + name + "/gradConv2D/", "Conv2DBackpropInput", {out, weight}, {in}, products_us});
    const MsTensor rate = {MsType::kFloat32, {}};
    list->push_back({"Default/optimizer-Momentum/",
                     "ApplyMomentum",
                     {updated, updated, rate, updated, rate},
                     {updated, updated},
                     5});
  }

  void add_pool(std::vector<MsOp>* list, const std::string& net, const std::string& back) const {
    const MsTensor in = blocked(MsType::kFloat16, {batch, 64, 16, 16});
    const MsTensor out = blocked(MsType::kFloat16, {batch, 64, 8, 8});
    list->push_back({net, "MaxPool", {in}, {out}, 3});
    list->push_back({back + "gradMaxPool/", "MaxPoolGrad", {in, out, out}, {in}, 6});
  }

  void add_dense(std::vector<MsOp>* list, const std::string& net, const std::string& back) const {
    const MsTensor in = {MsType::kFloat16, {batch, 4096}, "FRACTAL_NZ"};
    const MsTensor weight = {MsType::kFloat16, {1001, 4096}, "FRACTAL_NZ"};
    const MsTensor out = {MsType::kFloat16, {batch, 1001}, "FRACTAL_NZ"};
    for (const MsTensor& tensor : {in, weight, out}) {
      MsTensor plain = tensor;
      plain.format = "DefaultFormat";
      list->push_back({net + "fc/", "TransData", {plain}, {tensor}, 2});
    }
    list->push_back({net + "fc/", "MatMul", {in, weight}, {out}, 8});
    list->push_back({back + "fc/gradMatMul/", "MatMul", {out, weight}, {in}, 8});
    list->push_back({back + "fc/gradMatMul/", "MatMul", {out, in}, {weight}, 8});
    const MsTensor logits = {MsType::kFloat32, {batch, 1001}};
    const MsTensor loss = {MsType::kFloat32, {batch}};
    list->push_back(
        {net + "loss/", "SoftmaxCrossEntropyWithLogits", {logits, logits}, {loss, logits}, 3});
  }

  // As Ascend stores a tensor of that format.
  static std::vector<int64_t> stored(const MsTensor& tensor) {
    const auto& e = tensor.extents;
    if (tensor.format == "NC1HWC0") {
      return {e[0], blocks(e[1]), e[2], e[3], kBlock};
    }
    if (tensor.format == "FracZ") {
      return {blocks(e[1]) * e[2] * e[3], blocks(e[0]), kBlock, kBlock};
    }
    if (tensor.format == "FRACTAL_NZ") {
      return {blocks(e[1]), blocks(e[0]), kBlock, kBlock};
    }
    return e;
  }

  std::string type_name(MsType type) const {
    static const std::vector<std::string> kTable = {
        "BEGIN",  "BOOL",   "INT",    "INT8",  "INT16",   "INT32",   "INT64",   "UINT", "UINT8",
        "UINT16", "UINT32", "UINT64", "FLOAT", "FLOAT16", "FLOAT32", "FLOAT64", "END"};
    static const std::vector<int> kPlaces = {1, 5, 8, 13, 14};  // of MsType's values
    const int place = kPlaces[static_cast<size_t>(type)] + type_shift;
    return place < 0 || place >= static_cast<int>(kTable.size())
               ? "UNKNOWN"
               : "NUMBER_TYPE_" + kTable[static_cast<size_t>(place)];
  }

  std::string info_of(const MsOp& op) const {
    std::string text;
    const auto add = [&](const char* side, const std::vector<MsTensor>& tensors) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        text += fmt::format(R"({}"{}_{}": {{"format": "{}", "data_type": "{}", "shape": "{}"}})",
                            text.empty() ? "" : ", ", side, i, tensors[i].format,
                            type_name(tensors[i].type), fmt::join(stored(tensors[i]), ","));
      }
    };
    add("input", op.inputs);
    add("output", op.outputs);
    return "{" + text + "}";
  }

  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      out += c == '"' ? std::string("\"\"") : std::string(1, c);
    }
    return out + '"';
  }

  template <typename Text>
  static std::string joined_by(const std::vector<MsTensor>& tensors, Text text) {
    std::string out;
    for (const MsTensor& tensor : tensors) {
      out += (out.empty() ? "" : ";") + text(tensor);
    }
    return out;
  }
  static std::string shapes_of(const std::vector<MsTensor>& tensors) {
    return joined_by(
        tensors, [](const MsTensor& t) { return fmt::format("{}", fmt::join(stored(t), ",")); });
  }
  static std::string cann_types(const std::vector<MsTensor>& tensors) {
    static const std::vector<std::string> kNames = {"BOOL", "INT32", "UINT8", "FLOAT16", "FLOAT"};
    return joined_by(tensors,
                     [](const MsTensor& t) { return kNames[static_cast<size_t>(t.type)]; });
  }
  static std::string formats_of(const std::vector<MsTensor>& tensors) {
    return joined_by(tensors, [](const MsTensor& t) {
      return t.format == "DefaultFormat" ? std::string("ND") : t.format;
    });
  }
};

}  // namespace dfsim
