// Sampling and rearranging of images: grids, regions of interest, crops, deformable convolution.
#include <fmt/format.h>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/nn/fold_nn.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// A target shape in an input: its extents, or nullopt while they are unknown.
StatusOr<std::optional<Dims>> target_dims(const InferContext& context, size_t input) {
  const auto values = context.ints(input);
  if (!values) {
    return std::optional<Dims>();
  }
  for (const int64_t extent : *values) {
    if (extent < 0) {
      return context.error(
          fmt::format("input {} has the extent {}; expected 0 or more", input, extent));
    }
  }
  return std::optional<Dims>(Dims(values->begin(), values->end()));
}

// theta [N, 2, 3] and size [N, C, H, W] give a grid [N, H, W, 2]; likewise in 3-D.
Status infer_affine_grid(InferContext& context) {
  DFSIM_ASSIGN_OR_RETURN(auto size, target_dims(context, 1));
  if (!size) {
    return ok_status();
  }
  if (size->size() < 3) {
    return context.error("size has no spatial axes; expected N, C and space");
  }
  const auto spatial = static_cast<int64_t>(size->size()) - 2;
  size->erase(size->begin() + 1);
  size->emplace_back(spatial);
  context.set_output(0, context.dtype(0), Shape(std::move(*size)));
  return ok_status();
}

Status infer_center_crop_pad(InferContext& context) {
  const Shape& x = context.shape(0);
  DFSIM_ASSIGN_OR_RETURN(const auto target, target_dims(context, 1));
  if (!x.has_rank() || !target) {
    return ok_status();
  }
  const auto* axes = context.attributes().get_ints("axes");
  const size_t count = axes != nullptr ? axes->size() : static_cast<size_t>(x.rank());
  if (target->size() != count) {
    return context.error(fmt::format("{} extents are given for {} axes", target->size(), count));
  }
  Dims dims = x.dims();
  for (size_t i = 0; i < count; ++i) {
    DFSIM_ASSIGN_OR_RETURN(
        const int axis,
        context.axis(axes != nullptr ? (*axes)[i] : static_cast<int64_t>(i), x.rank()));
    dims[static_cast<size_t>(axis)] = (*target)[i];
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// [N, C * prod(block), L] to [N, C, image...].
Status infer_col_to_im(InferContext& context) {
  const Shape& x = context.shape(0);
  DFSIM_ASSIGN_OR_RETURN(const auto image, target_dims(context, 1));
  DFSIM_ASSIGN_OR_RETURN(const auto block, target_dims(context, 2));
  if (x.rank() != 3 || !image || !block) {
    return ok_status();
  }
  Count taps(1);
  for (const Dim extent : *block) {
    taps *= Count(extent.extent());
  }
  if (taps.overflowed() || taps.value() == 0 ||
      (x[1].known() && x[1].extent() % taps.value() != 0)) {
    return context.error(fmt::format("input {} does not hold whole blocks of {} elements",
                                     format_shape(x), taps.value()));
  }
  Dims dims = {x[0], x[1].known() ? Dim(x[1].extent() / taps.value()) : Dim::unknown()};
  dims.insert(dims.end(), image->begin(), image->end());
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// X [N, C, space...] sampled at grid [N, space_out..., k].
Status infer_grid_sample(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& grid = context.shape(1);
  if (!x.has_rank() || !grid.has_rank()) {
    return ok_status();
  }
  if (x.rank() < 3 || grid.rank() != x.rank()) {
    return context.error(fmt::format("input {} and grid {}: expected the same rank of 3 or more",
                                     format_shape(x), format_shape(grid)));
  }
  Dims dims = {x[0], x[1]};
  dims.insert(dims.end(), grid.dims().begin() + 1, grid.dims().end() - 1);
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

Status set_regions(InferContext& context, int64_t height, int64_t width) {
  const Shape& x = context.shape(0);
  const Shape& regions = context.shape(1);
  if (!x.has_rank() || !regions.has_rank()) {
    return ok_status();
  }
  if (x.rank() != 4 || regions.rank() != 2 || height < 0 || width < 0) {
    return context.error(fmt::format("input {} and regions {}: expected rank 4 and 2",
                                     format_shape(x), format_shape(regions)));
  }
  context.set_output(0, context.dtype(0), Shape({regions[0], x[1], Dim(height), Dim(width)}));
  return ok_status();
}

Status infer_roi_align(InferContext& context) {
  return set_regions(context, context.attributes().int_or("output_height", 1),
                     context.attributes().int_or("output_width", 1));
}

Status infer_max_roi_pool(InferContext& context) {
  const auto* pooled = context.attributes().get_ints("pooled_shape");
  if (pooled == nullptr || pooled->size() != 2) {
    return context.error("has no pooled_shape of two entries");
  }
  return set_regions(context, (*pooled)[0], (*pooled)[1]);
}

Status infer_max_unpool(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  if (context.has_input(2)) {
    DFSIM_ASSIGN_OR_RETURN(auto target, target_dims(context, 2));
    if (target) {
      context.set_output(0, context.dtype(0), Shape(std::move(*target)));
    }
    return ok_status();
  }
  if (x.rank() < 3) {
    return context.error(fmt::format("input {}: expected rank 3 or more", format_shape(x)));
  }
  DFSIM_ASSIGN_OR_RETURN(const Window window, Window::from_pool(context, x.rank() - 2));
  Dims dims = {x[0], x[1]};
  DFSIM_RETURN_IF_ERROR(window.append_transposed_output(context, x, &dims));
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

Status infer_deform_conv(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(1);
  if (!x.has_rank() || !w.has_rank()) {
    return ok_status();
  }
  if (x.rank() < 3 || w.rank() != x.rank()) {
    return context.error(fmt::format("input {} and weight {}: expected the same rank of 3 or more",
                                     format_shape(x), format_shape(w)));
  }
  DFSIM_ASSIGN_OR_RETURN(const Window window, Window::from_conv(context, x.rank() - 2, w));
  Dims dims = {x[0], w[0]};
  DFSIM_RETURN_IF_ERROR(window.append_output(context, x, /*ceil=*/false, &dims));
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// A convolution whose taps are blended from 2 neighbours per spatial axis first.
void work_deform_conv(WorkContext& context) {
  const Shape& w = context.input(1).shape;
  Count taps(1);
  for (int i = 1; i < w.rank(); ++i) {
    taps *= Count(w[i].extent());
  }
  context.add_macs(context.output(0).shape.elements() * taps);
  context.add_flops(context.input(2).shape.elements(), 8);
  context.set_matrix();
}

// 4 neighbours, a product and a sum each.
void work_grid_sample(WorkContext& context) {
  const std::string mode = context.op().attributes.string_or("mode", "linear");
  context.add_flops(context.first_output().shape.elements(),
                    mode == "nearest"                         ? 1
                    : mode.find("cubic") != std::string::npos ? 32
                                                              : 8);
}

// Each output is the mean of sampling_ratio^2 bilinear samples (2 x 2 when it adapts).
void work_roi_align(WorkContext& context) {
  const int64_t ratio =
      std::clamp<int64_t>(context.op().attributes.int_or("sampling_ratio", 0), 0, int64_t{1} << 20);
  const int64_t side = ratio == 0 ? 2 : ratio;
  context.add_flops(context.first_output().shape.elements() * Count(side * side) * Count(9));
}

void work_col_to_im(WorkContext& context) { context.add_flops(context.input(0).shape.elements()); }

// The size of an image is only known when it is there.
Status infer_image_decoder(InferContext& context) {
  const bool grey = context.attributes().string_or("pixel_format", "RGB") == "Grayscale";
  context.mark_data_dependent(0);
  context.set_output(0, DType::kUInt8, Shape({Dim::unknown(), Dim::unknown(), Dim(grey ? 1 : 3)}));
  return ok_status();
}

// clang-format off
constexpr OpDef kVisionOps[] = {
    {.op_type = "AffineGrid", .op_class = OpClass::kElementwise, .infer = infer_affine_grid,
     .work = work_per_element, .fold = fold_affine_grid, .flops_per_element = 5,
     .required_inputs = 2},
    {.op_type = "CenterCropPad", .op_class = OpClass::kDataMovement, .infer = infer_center_crop_pad,
     .work = work_copy, .fold = fold_center_crop_pad, .required_inputs = 2},
    {.op_type = "Col2Im", .op_class = OpClass::kDataMovement, .infer = infer_col_to_im,
     .work = work_col_to_im, .fold = fold_col_to_im, .required_inputs = 3},
    {.op_type = "GridSample", .op_class = OpClass::kDataMovement, .infer = infer_grid_sample,
     .work = work_grid_sample, .fold = fold_grid_sample, .required_inputs = 2},
    {.op_type = "GridSample", .op_class = OpClass::kDataMovement, .infer = infer_grid_sample,
     .work = work_grid_sample, .required_inputs = 2, .domain = kMicrosoft},
    {.op_type = "RoiAlign", .op_class = OpClass::kPool, .infer = infer_roi_align,
     .work = work_roi_align, .fold = fold_roi_align, .required_inputs = 3,
     .factors = factors_regions},
    {.op_type = "MaxRoiPool", .op_class = OpClass::kPool, .infer = infer_max_roi_pool,
     .work = work_per_element, .flops_per_element = 4, .required_inputs = 2,
     .factors = factors_regions},
    {.op_type = "ImageDecoder", .infer = infer_image_decoder, .work = work_per_element,
     .flops_per_element = 30},
    {.op_type = "MaxUnpool", .op_class = OpClass::kDataMovement, .infer = infer_max_unpool,
     .fold = fold_max_unpool, .required_inputs = 2},
    {.op_type = "DeformConv", .op_class = OpClass::kConv, .infer = infer_deform_conv,
     .work = work_deform_conv, .fold = fold_deform_conv, .required_inputs = 3},
};
// clang-format on

constexpr WorkNote kVisionNotes[] = {
    {work_deform_conv, "MACs = output elements x C_in/group x kernel; 8 per offset"},
    {work_grid_sample, "1 (nearest), 8 (linear) or 32 (cubic) per output element"},
    {work_roi_align, "9 per bilinear sample"},
    {work_col_to_im, "1 per input element"},
};

}  // namespace

OpFamily vision_op_defs() { return {kVisionOps, kVisionNotes}; }

}  // namespace dfsim::inline graphs
