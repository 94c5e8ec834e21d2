// Storage of a profile: interned texts and tensor lists, and rows of their ids. A profile of
// 300,000 rows repeats a few thousand shapes, which is why rows stay small and equality of
// shapes is equality of ids. The text forms at the top are the ones that files use; parsing and
// formatting are inverse to each other.
#include "datasets/profiles/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hash.h"
#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

constexpr std::array<std::string_view, kTimingKindCount> kTimingNames = {
    "unknown", "kernel-only", "launch-inclusive", "in-network"};
constexpr std::array<std::string_view, kDropReasonCount> kDropNames = {
    "not-a-number", "negative", "zero", "impossible", "malformed", "no-time", "unsupported"};
constexpr std::string_view kMissing = "none";
constexpr size_t kMaxRank = 64;  // no framework goes beyond 32; a longer list is not a shape

constexpr std::array kTextFields = {
    &ProfileRow::device,  &ProfileRow::runtime,    &ProfileRow::runtime_version,
    &ProfileRow::op_type, &ProfileRow::attributes, &ProfileRow::name,
    &ProfileRow::kernel,  &ProfileRow::network,    &ProfileRow::provenance};
constexpr std::array kListFields = {&ProfileRow::inputs, &ProfileRow::outputs};

uint64_t hash_tensors(const TensorList& tensors) {
  Hasher hasher;
  for (const TensorSpec& tensor : tensors) {
    hasher.add(static_cast<uint64_t>(tensor.dtype)).add(tensor.format).add(tensor.extents.size());
    for (const int64_t extent : tensor.extents) {
      hasher.add(static_cast<uint64_t>(extent));
    }
  }
  return hasher.digest();
}

void format_tensor(const TensorSpec& tensor, std::string& out) {
  if (tensor.missing()) {
    out += kMissing;
    return;
  }
  out += dtype_name(tensor.dtype);
  out += '[';
  for (size_t i = 0; i < tensor.extents.size(); ++i) {
    if (i > 0) {
      out += 'x';
    }
    if (tensor.extents[i] < 0) {
      out += '?';
    } else {
      fmt::format_to(std::back_inserter(out), "{}", tensor.extents[i]);
    }
  }
  out += ']';
  if (!tensor.format.empty()) {
    out += '@';
    out += tensor.format;
  }
}

// Reads "1x3x?" into extents; false for anything else.
bool parse_extents(std::string_view text, std::vector<int64_t>& extents) {
  while (!text.empty()) {
    if (extents.size() == kMaxRank) {
      return false;
    }
    if (text[0] == '?') {
      extents.push_back(-1);
      text.remove_prefix(1);
    } else {
      int64_t extent = -1;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
      if (error != std::errc() || extent < 0) {
        return false;
      }
      extents.push_back(extent);
      text.remove_prefix(static_cast<size_t>(end - text.data()));
    }
    if (text.empty()) {
      return true;
    }
    if (text[0] != 'x' || text.size() == 1) {
      return false;
    }
    text.remove_prefix(1);
  }
  return true;
}

bool parse_tensor(std::string_view item, TensorSpec& tensor) {
  if (item == kMissing) {
    tensor.extents = {-1};
    return true;
  }
  const size_t open = item.find('[');
  const size_t close = item.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) {
    return false;
  }
  const std::string_view dtype = item.substr(0, open);
  const std::string_view rest = item.substr(close + 1);
  tensor.dtype = dtype_from_name(dtype);
  if (tensor.dtype == DType::kUnknown && dtype != dtype_name(DType::kUnknown)) {
    return false;
  }
  if (!rest.empty() && (rest[0] != '@' || rest.size() == 1)) {
    return false;
  }
  tensor.format = std::string(rest.empty() ? rest : rest.substr(1));
  if (!parse_extents(item.substr(open + 1, close - open - 1), tensor.extents)) {
    return false;
  }
  if (tensor.missing()) {  // one axis of unknown length says no more than an operand left out
    tensor = TensorSpec();
    tensor.extents = {-1};
  }
  return true;
}

}  // namespace

std::string_view timing_kind_name(TimingKind kind) {
  return kTimingNames[static_cast<size_t>(kind)];
}

TimingKind timing_kind_from_name(std::string_view name, bool* found) {
  const auto* const it = std::find(kTimingNames.begin(), kTimingNames.end(), name);
  *found = it != kTimingNames.end();
  return *found ? static_cast<TimingKind>(it - kTimingNames.begin()) : TimingKind::kUnknown;
}

std::string_view drop_reason_name(DropReason reason) {
  return kDropNames[static_cast<size_t>(reason)];
}

std::string format_tensors(const TensorList& tensors) {
  std::string out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i > 0) {
      out += ';';
    }
    format_tensor(tensors[i], out);
  }
  return out;
}

StatusOr<TensorList> parse_tensors(std::string_view text) {
  TensorList tensors;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view item = text.substr(0, end);
    TensorSpec tensor;
    if (!parse_tensor(item, tensor)) {
      return invalid_input(fmt::format("tensor '{}', expected dtype[AxBxC] or dtype[AxBxC]@FORMAT",
                                       printable(item)));
    }
    tensors.push_back(std::move(tensor));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return tensors;
}

std::string canonical_attributes(std::vector<std::pair<std::string, std::string>> attributes) {
  std::sort(attributes.begin(), attributes.end());
  std::string out;
  for (const auto& [name, value] : attributes) {
    if (!out.empty()) {
      out += ';';
    }
    out += name;
    out += '=';
    out += value;
  }
  return out;
}

std::string_view attribute_value(std::string_view attributes, std::string_view name) {
  while (!attributes.empty()) {
    const std::string_view pair = attributes.substr(0, attributes.find(';'));
    if (pair.size() > name.size() && pair.substr(0, name.size()) == name &&
        pair[name.size()] == '=') {
      return pair.substr(name.size() + 1);
    }
    attributes.remove_prefix(std::min(pair.size() + 1, attributes.size()));
  }
  return "";
}

std::string without_attribute(std::string attributes, std::string_view name) {
  const std::string_view value = attribute_value(attributes, name);
  if (value.empty()) {
    return attributes;
  }
  const size_t begin = static_cast<size_t>(value.data() - attributes.data()) - name.size() - 1;
  const size_t end = begin + name.size() + 1 + value.size();
  if (end < attributes.size()) {
    return attributes.erase(begin, end + 1 - begin);
  }
  return attributes.substr(0, begin > 0 ? begin - 1 : 0);
}

void DropReport::add(std::string_view file, int64_t row, DropReason reason, std::string message,
                     int64_t count) {
  counts_[static_cast<size_t>(reason)] += count;
  if (entries_.size() < kMaxKept) {
    entries_.push_back({std::string(file), row, reason, std::move(message)});
  }
}

void DropReport::merge(const DropReport& other) {
  for (size_t i = 0; i < counts_.size(); ++i) {
    counts_[i] += other.counts_[i];
  }
  for (const Entry& entry : other.entries_) {
    if (entries_.size() < kMaxKept) {
      entries_.push_back(entry);
    }
  }
  notes_.insert(notes_.end(), other.notes_.begin(), other.notes_.end());
}

int64_t DropReport::total() const {
  int64_t sum = 0;
  for (const int64_t count : counts_) {
    sum += count;
  }
  return sum;
}

std::string DropReport::summary() const {
  std::vector<std::string> parts;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0) {
      parts.push_back(fmt::format("{} {}", counts_[i], kDropNames[i]));
    }
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

size_t Profile::TextHash::operator()(std::string_view text) const {
  return Hasher().add(text).digest();
}

Profile::Profile() {
  intern("");
  intern(TensorList{});
}

TextId Profile::intern(std::string_view text) {
  const auto it = text_ids_.find(text);
  if (it != text_ids_.end()) {
    return it->second;
  }
  const TextId id(texts_.size());
  texts_.emplace_back(text);
  text_ids_.emplace(texts_.back(), id);
  return id;
}

TensorListId Profile::intern(const TensorList& tensors) {
  const uint64_t hash = hash_tensors(tensors);
  const auto [begin, end] = list_ids_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (lists_[it->second.index()] == tensors) {
      return it->second;
    }
  }
  const TensorListId id(lists_.size());
  lists_.push_back(tensors);
  list_ids_.emplace(hash, id);
  return id;
}

void Profile::add(ProfileRow row) {
  for (TextId ProfileRow::*field : kTextFields) {
    if (!(row.*field).valid()) {
      row.*field = TextId(0);
    }
  }
  for (TensorListId ProfileRow::*field : kListFields) {
    if (!(row.*field).valid()) {
      row.*field = TensorListId(0);
    }
  }
  DFSIM_CHECK(row.time_ns > 0);
  rows_.push_back(row);
}

void Profile::append(const Profile& other) {
  std::vector<TextId> texts;
  texts.reserve(other.texts_.size());
  for (const std::string& text : other.texts_) {
    texts.push_back(intern(text));
  }
  std::vector<TensorListId> lists;
  lists.reserve(other.lists_.size());
  for (const TensorList& list : other.lists_) {
    lists.push_back(intern(list));
  }
  rows_.reserve(rows_.size() + other.rows_.size());
  for (ProfileRow row : other.rows_) {
    for (TextId ProfileRow::*field : kTextFields) {
      row.*field = texts[(row.*field).index()];
    }
    for (TensorListId ProfileRow::*field : kListFields) {
      row.*field = lists[(row.*field).index()];
    }
    rows_.push_back(row);
  }
}

void Profile::filter(const std::vector<bool>& keep) {
  DFSIM_CHECK(keep.size() == rows_.size());
  size_t kept = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (keep[i]) {
      rows_[kept++] = rows_[i];
    }
  }
  rows_.resize(kept);
}

DType Profile::dtype(const ProfileRow& row) const {
  if (row.compute_dtype != DType::kUnknown) {
    return row.compute_dtype;
  }
  for (const TensorListId id : {row.inputs, row.outputs}) {
    for (const TensorSpec& tensor : tensors(id)) {
      if (tensor.dtype != DType::kUnknown && tensor.format != kBytesFormat) {
        return tensor.dtype;
      }
    }
  }
  return DType::kUnknown;
}

bool same_measurement(const ProfileRow& a, const ProfileRow& b) {
  return a.device == b.device && a.runtime == b.runtime && a.runtime_version == b.runtime_version &&
         a.op_type == b.op_type && a.attributes == b.attributes && a.inputs == b.inputs &&
         a.outputs == b.outputs && a.timing == b.timing && a.compute_dtype == b.compute_dtype;
}

}  // namespace dfsim::inline datasets
