// Profile: measured operator times in memory, whatever tool measured them.
//
// Purpose: the one schema between readers (datasets/*_reader.cc), files
// (datasets/profiles/profile_io.h) and
//   training and evaluation (opmodel/). Columns and their text forms: datasets/profiles/SCHEMA.md.
// Each row is one operator with one shape on one device under one runtime. Repeated texts and
//   shapes are interned, so that rows are small and a row compares by ids.
// Invariants of every row of a Profile: time_ns > 0; samples, count and batch are not negative; ids
//   are in range; tensor lists are in ONNX operand order (Conv: X [N,C,H,W], W [O,C/g,kh,kw], B;
//   Gemm: A, B, C; MatMul: A, B) as long as the op has an ONNX counterpart.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/units.h"
#include "graphs/ir/op_class.h"

namespace dfsim::inline datasets {

// The scope of the measured time. Never mix kinds in one model without an overhead term.
enum class TimingKind : uint8_t {
  kUnknown,
  kKernelOnly,       // device time of the op's kernels, launch excluded; `network` says where
  kLaunchInclusive,  // one eager op timed alone, launch overhead included
  kInNetwork,        // wall time of the op inside a run of a whole network
};
inline constexpr int kTimingKindCount = static_cast<int>(TimingKind::kInNetwork) + 1;

// "unknown", "kernel-only", "launch-inclusive", "in-network".
std::string_view timing_kind_name(TimingKind kind);
// The kind of that name; kUnknown with `found` false when there is none.
TimingKind timing_kind_from_name(std::string_view name, bool* found);

// One operand. A missing optional input is {kUnknown, {-1}, ""}; a scalar has no extents.
struct TensorSpec {
  DType dtype = DType::kUnknown;
  std::vector<int64_t> extents;
  std::string format;  // "" (plain), "NHWC", "NC1HWC0", "FRACTAL_Z"...

  bool missing() const { return extents.size() == 1 && extents[0] < 0; }
  bool operator==(const TensorSpec&) const = default;
};
using TensorList = std::vector<TensorSpec>;

// Format of an operand of which only the size is known: uint8[bytes]@BYTES.
inline constexpr std::string_view kBytesFormat = "BYTES";

// "float32[1x3x224x224]", "float16[8x4x7x7x16]@NC1HWC0", "float32[]" for a scalar, "none" for a
// missing input; an extent that is not known is "?" (-1). Lists join them with ';'.
std::string format_tensors(const TensorList& tensors);
// Inverse of format_tensors(). Error (kInvalidInput): the item that cannot be read.
StatusOr<TensorList> parse_tensors(std::string_view text);

// Canonical attributes: "name=value" sorted by name, joined with ';', elements of lists joined with
// ','. Names and meaning are ONNX's. Which attributes an op type keeps:
// datasets/profiles/SCHEMA.md.
std::string canonical_attributes(std::vector<std::pair<std::string, std::string>> attributes);
// The value of one attribute in a canonical string, or "" when it is absent.
std::string_view attribute_value(std::string_view attributes, std::string_view name);
// The attributes but the one of that name. O(attributes).
std::string without_attribute(std::string attributes, std::string_view name);

using TextId = Id<struct ProfileTextTag>;
using TensorListId = Id<struct ProfileTensorListTag>;

struct ProfileRow {
  TimeNs time_ns = 0;     // median of one execution
  TimeNs spread_ns = -1;  // standard deviation over the samples; -1 = not known
  TextId device;          // as the tool names it: "NVIDIA A100-PCIE-40GB"
  TextId runtime;         // "pytorch", "onnxruntime", "mindspore", "trtllm"...
  TextId runtime_version;
  TextId op_type;       // ONNX's name where there is one, else the framework's ("BNTrainingUpdate")
  TextId attributes;    // canonical_attributes()
  TextId name;          // of the op in its network, "" when measured alone
  TextId kernel;        // the implementation, where it is known
  TextId network;       // "resnet50"; "" when measured alone
  TextId provenance;    // data set or file, licence
  TensorListId inputs;  // ONNX operand order
  TensorListId outputs;
  uint32_t source_row = 0;  // line or event number in the file it was read from, for messages
  int32_t samples = 0;      // measurements behind time_ns; 0 = not known
  int32_t count = 1;        // executions of this row in one run of the network
  int32_t batch = 0;        // batch size of the network; 0 = not known
  OpClass op_class = OpClass::kOpaque;
  TimingKind timing = TimingKind::kUnknown;
  DType compute_dtype = DType::kUnknown;  // arithmetic is done in; kUnknown: as the first input
};

// Why a row of a file is not in the Profile.
enum class DropReason : uint8_t {
  kNotANumber,   // time is NaN, infinite or not a number at all
  kNegative,     // includes -1 for "not measured"
  kZero,         // also what rounds to 0 ns
  kImpossible,   // faster than half of the device's bound
  kMalformed,    // wrong column count, unreadable shape, unknown class...
  kNoTime,       // a row without a matching time (MindSpore detail, a kernel that is not there)
  kUnsupported,  // well-formed, but nothing an operator model can use
};
inline constexpr int kDropReasonCount = static_cast<int>(DropReason::kUnsupported) + 1;
// "not-a-number", "negative", "zero", "impossible", "malformed", "no-time", "unsupported".
std::string_view drop_reason_name(DropReason reason);

// Rows left out, counted by reason; the first few with place and explanation. Notes about those
// that stay.
class DropReport {
 public:
  static constexpr size_t kMaxKept = 20;
  struct Entry {
    std::string file;
    int64_t row = 0;  // 1-based line or event number
    DropReason reason = DropReason::kMalformed;
    std::string message;  // what was found, what was expected
  };

  // `count` rows with one message.
  void add(std::string_view file, int64_t row, DropReason reason, std::string message,
           int64_t count = 1);
  void merge(const DropReport& other);
  int64_t count(DropReason reason) const { return counts_[static_cast<size_t>(reason)]; }
  int64_t total() const;
  const std::vector<Entry>& entries() const { return entries_; }
  // One sentence for each thing that the reader changed or doubts in rows that it keeps.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  const std::vector<std::string>& notes() const { return notes_; }
  // "3 negative, 1 malformed", or "none".
  std::string summary() const;

 private:
  std::array<int64_t, kDropReasonCount> counts_{};
  std::vector<Entry> entries_;
  std::vector<std::string> notes_;
};

class Profile {
 public:
  Profile();

  size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  std::span<const ProfileRow> rows() const { return rows_; }
  const ProfileRow& row(size_t i) const { return rows_[i]; }
  const std::string& text(TextId id) const { return texts_[id.index()]; }
  const TensorList& tensors(TensorListId id) const { return lists_[id.index()]; }
  size_t text_count() const { return texts_.size(); }
  size_t tensor_list_count() const { return lists_.size(); }

  // Equal texts and lists get equal ids. O(length) expected. "" and the empty list always exist.
  TextId intern(std::string_view text);
  TensorListId intern(const TensorList& tensors);
  // Ids that are none stand for the empty text or list.
  void add(ProfileRow row);
  // Appends the rows of `other`, re-interned.
  void append(const Profile& other);
  // Keeps rows where `keep[i]`; |keep| == size().
  void filter(const std::vector<bool>& keep);

  // Arithmetic dtype of a row: compute_dtype, or the first known dtype of its inputs, then outputs;
  // operands of kBytesFormat do not count.
  DType dtype(const ProfileRow& row) const;

 private:
  struct TextHash {
    size_t operator()(std::string_view text) const;
  };
  std::vector<ProfileRow> rows_;
  std::deque<std::string> texts_;  // a deque: the views in text_ids_ must not move
  std::unordered_map<std::string_view, TextId, TextHash> text_ids_;
  std::deque<TensorList> lists_;
  std::unordered_multimap<uint64_t, TensorListId> list_ids_;
};

// True when the rows describe the same op on the same device, runtime and kind of timing: what
// should take the same time up to noise.
bool same_measurement(const ProfileRow& a, const ProfileRow& b);

}  // namespace dfsim::inline datasets
