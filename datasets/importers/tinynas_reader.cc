// Convolution times on a V100 from lightweight-neural-architecture-search (Apache-2.0).
//
// Lines "{Regular|Depthwise,Batch,InC,InH,InW,OutC,Kernel,Stride,EltwiseFused} ms"; -1 = not
// measured. TensorRT kernels; the dtype is in the file's name (conv_data.out.fp16, .int8; fp32 when
// neither), padding is (Kernel-1)/2 on each side, EltwiseFused = 1 adds a residual in the kernel.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/io/text_file.h"
#include "base/text.h"
#include "datasets/importers/importer_list.h"
#include "datasets/importers/row_sink.h"
#include "datasets/importers/tensor_lists.h"
#include "datasets/tables/csv.h"
#include "datasets/tables/numbers.h"
#include "datasets/tables/table_reader.h"

namespace dfsim::inline datasets {
namespace {

constexpr size_t kFields = 9;

class TinynasImporter : public Importer {
 public:
  std::string_view name() const override { return "tinynas"; }
  std::string_view description() const override {
    return "TinyNAS V100 convolution times (TensorRT, fp32, fp16, int8)";
  }
  Status import(const std::string& path, const ProfileImportOptions& options, Profile& profile,
                DropReport* drops) const override;
};

DType dtype_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.find("fp16") != std::string::npos) {
    return DType::kFloat16;
  }
  return name.find("int8") != std::string::npos ? DType::kInt8 : DType::kFloat32;
}

// The numbers of one line.
struct ConvLine {
  bool depthwise = false;
  int64_t batch = 0;
  int64_t in_channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t out_channels = 0;
  int64_t kernel = 0;
  int64_t stride = 0;
  int64_t fused = 0;
  double time_ms = 0;
};

bool parse_line(std::string_view line, std::vector<std::string_view>* fields, ConvLine* conv) {
  const size_t close = line.find('}');
  if (!line.starts_with('{') || close == std::string_view::npos) {
    return false;
  }
  std::string scratch;
  if (!split_csv_line(line.substr(1, close - 1), &scratch, fields) || fields->size() != kFields) {
    return false;
  }
  conv->depthwise = (*fields)[0] == "Depthwise";
  if (!conv->depthwise && (*fields)[0] != "Regular") {
    return false;
  }
  int64_t* const numbers[] = {&conv->batch,        &conv->in_channels, &conv->height, &conv->width,
                              &conv->out_channels, &conv->kernel,      &conv->stride, &conv->fused};
  for (size_t i = 0; i + 1 < kFields; ++i) {
    const auto value = parse_number<int64_t>((*fields)[i + 1]);
    if (!value.has_value() || *value < (i + 2 == kFields ? 0 : 1) || *value > kMaxExtent) {
      return false;
    }
    *numbers[i] = *value;
  }
  const auto time_ms = parse_number<double>(line.substr(close + 1));
  conv->time_ms = time_ms.value_or(0);
  return time_ms.has_value();
}

void describe(const ConvLine& line, DType dtype, Profile& profile, ProfileRow* row) {
  const int64_t group = line.depthwise ? line.in_channels : 1;
  const int64_t pad = (line.kernel - 1) / 2;
  const ConvGeometry conv{.kernel = {line.kernel, line.kernel},
                          .strides = {line.stride, line.stride},
                          .pads = {pad, pad, pad, pad},
                          .dilations = {1, 1},
                          .group = group};
  const TensorSpec x = tensor(dtype, {line.batch, line.in_channels, line.height, line.width});
  const TensorSpec w =
      tensor(dtype, {line.out_channels, line.in_channels / group, line.kernel, line.kernel});
  const TensorSpec y = tensor(dtype, conv_output(x.extents, line.out_channels, conv));
  std::string attributes = conv_attributes(conv);
  TensorList inputs = {x, w};
  if (line.fused != 0) {
    inputs.push_back(missing_tensor());  // the bias, which is not recorded
    inputs.push_back(y);                 // the residual
    attributes = "dilations=1,1;fused=Add" + attributes.substr(attributes.find(";group"));
  }
  row->inputs = profile.intern(inputs);
  row->outputs = profile.intern({y});
  row->attributes = profile.intern(attributes);
}

Status TinynasImporter::import(const std::string& path, const ProfileImportOptions& options,
                               Profile& profile, DropReport* drops) const {
  DFSIM_ASSIGN_OR_RETURN(LineReader lines, LineReader::open(path));
  RowSink sink(profile, drops, path);
  ProfileRow common;
  set_origin(profile, options, "Tesla V100", "tensorrt", "", &common);
  common.op_type = profile.intern("Conv");
  common.op_class = OpClass::kConv;
  common.provenance = profile.intern("TinyNAS V100 convolutions (Apache-2.0)");
  common.timing = TimingKind::kKernelOnly;
  const DType dtype = dtype_of(path);
  std::vector<std::string_view> fields;
  std::string_view line;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, lines.next(&line));
    if (!more) {
      return ok_status();
    }
    if (trim(line).empty()) {
      continue;
    }
    ConvLine conv;
    if (!parse_line(line, &fields, &conv)) {
      sink.drop(lines.line_number(), DropReason::kMalformed,
                fmt::format("'{}', expected {{Regular|Depthwise,8 numbers}} ms", printable(line)));
      if (hopeless(sink)) {
        return invalid_input(
            fmt::format("{}: none of the first {} lines is a convolution of this "
                        "format",
                        path, sink.dropped()));
      }
      continue;
    }
    ProfileRow row = common;
    describe(conv, dtype, profile, &row);
    sink.add(row, lines.line_number(), conv.time_ms * kNsPerMs);
  }
}

}  // namespace

std::unique_ptr<Importer> make_tinynas_importer() { return std::make_unique<TinynasImporter>(); }

}  // namespace dfsim::inline datasets
