// A state machine over single bytes of keys and lengths, and over runs of bytes of everything else.
#include "server/models/weight_skipper.h"

#include <algorithm>
#include <array>

namespace dfsim::server {
namespace {

// The messages on the way from ModelProto to tensors; field numbers are facts of onnx.proto.
enum OnnxMessage : int { kModel, kGraph, kNode, kAttribute, kTensor };

struct OnnxField {
  int parent;
  uint64_t field;
  int child;
};
constexpr std::array<OnnxField, 5> kOnnxFields = {{{kModel, 7, kGraph},
                                                   {kGraph, 5, kTensor},
                                                   {kGraph, 1, kNode},
                                                   {kNode, 5, kAttribute},
                                                   {kAttribute, 5, kTensor}}};

// The importer leaves out payloads above the same size (graphs/onnx/slim.h).
constexpr uint64_t kMostKeptPayload = uint64_t{32} << 10;
constexpr int kLastVarintShift = 63;

bool is_tensor_payload(uint64_t field) {
  return (field >= 4 && field <= 7) || (field >= 9 && field <= 11);
}

}  // namespace

bool WeightSkipper::add_varint_byte(char byte) {
  const auto bits = static_cast<unsigned char>(byte);
  if (shift_ > kLastVarintShift) {
    state_ = State::kWhole;
    return false;
  }
  number_ |= static_cast<uint64_t>(bits & 0x7FU) << shift_;
  shift_ += 7;
  return (bits & 0x80U) == 0;
}

// `number_` is a field's key.
void WeightSkipper::on_key() {
  field_ = number_ >> 3U;
  switch (number_ & 7U) {
    case 0:
      state_ = State::kVarint;
      break;
    case 1:
      state_ = State::kFixed;
      rest_ = 8;
      break;
    case 2:
      state_ = State::kLength;
      break;
    case 5:
      state_ = State::kFixed;
      rest_ = 4;
      break;
    default:
      state_ = State::kWhole;
  }
  if (field_ == 0) {
    state_ = State::kWhole;
  }
}

// `number_` is the length of the field's value, which begins at position_.
void WeightSkipper::on_length() {
  const Message& inside = messages_.back();
  if (number_ > inside.end - position_) {
    state_ = State::kWhole;
    return;
  }
  const auto* const child = std::find_if(
      kOnnxFields.begin(), kOnnxFields.end(),
      [&](const OnnxField& row) { return row.parent == inside.kind && row.field == field_; });
  if (child != kOnnxFields.end()) {
    messages_.push_back({child->child, position_ + number_});
    state_ = State::kKey;
    end_messages();
    return;
  }
  rest_ = number_;
  const bool is_payload = inside.kind == kTensor && is_tensor_payload(field_);
  state_ = is_payload && number_ > kMostKeptPayload ? State::kSkip : State::kCopy;
  if (rest_ == 0) {
    state_ = State::kKey;
    end_messages();
  }
}

void WeightSkipper::end_messages() {
  while (messages_.size() > 1 && position_ >= messages_.back().end) {
    // A value that does not end with its message is not protobuf.
    if (position_ > messages_.back().end) {
      state_ = State::kWhole;
      return;
    }
    messages_.pop_back();
  }
}

void WeightSkipper::take(std::string_view piece, const Keep& keep, const Skip& skip) {
  size_t kept_from = 0;
  size_t i = 0;
  const auto keep_until = [&](size_t end) {
    if (end > kept_from) {
      keep(piece.substr(kept_from, end - kept_from));
    }
  };
  while (i < piece.size()) {
    if (state_ == State::kWhole) {
      position_ += piece.size() - i;
      i = piece.size();
    } else if (state_ == State::kCopy || state_ == State::kFixed || state_ == State::kSkip) {
      const auto run = static_cast<size_t>(std::min<uint64_t>(rest_, piece.size() - i));
      if (state_ == State::kSkip) {
        keep_until(i);
        skip(run);
        kept_from = i + run;
      }
      i += run;
      rest_ -= run;
      position_ += run;
      if (rest_ == 0) {
        state_ = State::kKey;
        end_messages();
      }
    } else {
      ++position_;
      const bool is_complete = add_varint_byte(piece[i++]);
      if (is_complete) {
        if (state_ == State::kKey) {
          on_key();
        } else if (state_ == State::kLength) {
          on_length();
        } else {
          state_ = State::kKey;
          end_messages();
        }
        number_ = 0;
        shift_ = 0;
      }
    }
  }
  keep_until(piece.size());
}

}  // namespace dfsim::server
