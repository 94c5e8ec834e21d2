// Tells the CSV files of Ascend's profilers apart, by their names or, where people renamed them
// (after the network, for instance), by the columns of their first line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace dfsim::inline datasets {

enum class MindsporeFileKind : uint8_t {
  kNone,
  kFramework,  // framework_raw_N.csv: an operator's type and operands
  kDetail,     // aicore_intermediate_N_detail.csv: an operator's time
  kJoined,     // both in one table
  kSummary,    // op_summary_*.csv and kernel_details.csv of CANN: type, operands and time
};

// `name` is the file's name, `first_line` its first line ("" = not read). Other files of the
// profiler (aicore_intermediate_N_type.csv, aicpu_intermediate_N.csv, minddata_*, step_trace_*) are
// kNone.
MindsporeFileKind mindspore_file_kind(std::string_view name, std::string_view first_line);

// The part of a file's name that is not the profiler's: "0" of framework_raw_0.csv, "resnet50_bs32"
// of aicore_intermediate_resnet50_bs32_detail.csv.gz, "bert" of bert_framework_raw.csv.
std::string mindspore_file_label(std::string_view name);

// A column's name as the versions of the profilers write it, reduced to one: lower case, '_' for
// spaces, without its unit; "full_kernel_name" and "op_name" of op_summary are "full_op_name".
std::string mindspore_column(std::string_view cell, MindsporeFileKind kind);

}  // namespace dfsim::inline datasets
