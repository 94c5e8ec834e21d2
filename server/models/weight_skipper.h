// WeightSkipper: finds the weights of an ONNX model while it arrives.
//
// Purpose: a model of gigabytes is uploaded, but its weights need not be kept. The skipper walks
//   protobuf's wire format as bytes come in and says which of them are payloads of large tensors
//   (initializers and constants), as graphs/onnx/slim.h does for files.
// Invariants: memory is constant. Other files, such as archives and GraphDefs, are kept whole;
//   the importer says whether they are models.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace dfsim::server {

class WeightSkipper {
 public:
  // Calls keep(bytes) and skip(count) in the order of the file, for each byte once.
  using Keep = std::function<void(std::string_view bytes)>;
  using Skip = std::function<void(uint64_t count)>;

  void take(std::string_view piece, const Keep& keep, const Skip& skip);

 private:
  enum class State : uint8_t { kKey, kLength, kVarint, kFixed, kCopy, kSkip, kWhole };

  void on_key();
  void on_length();
  void end_messages();
  bool add_varint_byte(char byte);

  State state_ = State::kKey;
  uint64_t position_ = 0;  // in the file
  uint64_t number_ = 0;    // varint so far
  int shift_ = 0;
  uint64_t field_ = 0;
  uint64_t rest_ = 0;  // bytes of kFixed, kCopy and kSkip that are to come
  struct Message {
    int kind;
    uint64_t end;  // of the file, for the model itself: none
  };
  std::vector<Message> messages_ = {{0, UINT64_MAX}};
};

}  // namespace dfsim::server
