// Work of ONNX Runtime's kernels on CPUs that a small problem does not escape.
//
// Purpose: recurrent layers call the functions of their results on one thread, and a product whose
//   right operand another operator computes copies that operand into panels first. Rows of
//   campaigns are mostly of one thread, of many rows and of constant weights, so trees predict the
//   other cases two to five times too short.
// Method: nanoseconds per element, the least over the measured processors: of 491 measured GRUs on
//   four of them, six took less than 0.9 times that, of 7,167 batched products none.
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// Microseconds of the results' functions and of the products of RNN and GRU at the device's peak; 0
// for other operators and where that rate or a shape is not known. `has_rows`: a model was trained
// on the form, so that only the least time of an RNN's functions limits it. O(1).
double serial_recurrence_us(const OpDescriptor& op, const DeviceSpec& device, bool has_rows);

// Microseconds that MatMul takes to copy a right operand that is not a weight; 0 for one row, which
// needs no copy, and for other operators. O(rank).
double packed_operand_us(const OpDescriptor& op, int cores);

// Microseconds of a Transpose that moves the last axis and others with it; 0 for all others.
// O(rank).
double element_copies_us(const OpDescriptor& op, const DeviceSpec& device);

// Microseconds of a MaxPool that also returns indices; 0 for all others. O(rank).
double pool_indices_us(const OpDescriptor& op, const DeviceSpec& device);

// Microseconds that the number of a Split's parts or of a Concat's operands takes. O(1).
double many_operands_us(const OpDescriptor& op, const DeviceSpec& device);

// Lifts `cost`, the answer of a model for a CPU, to these limits: extrapolated. Measured times
// stay.
void apply_kernel_floors(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost);

}  // namespace dfsim::inline opmodel
