// Track events of a Perfetto trace, with their names, clocks and tracks resolved.
//
// Names are interned per sequence of packets, and clocks may be incremental per sequence.
// Format: perfetto/trace/trace_packet.proto, track_event.proto and others, Google.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dfsim::inline datasets {

struct PerfettoEvent {
  enum Type : uint64_t { kBegin = 1, kEnd = 2, kInstant = 3, kCount = 4 };

  uint64_t type = 0;
  uint64_t track = 0;
  std::string name;
  std::string category;
  double time_us = 0;
  double counter = 0;
  std::vector<uint64_t> flows;
  std::vector<uint64_t> end_flows;
  // Values as JSON text.
  std::vector<std::pair<std::string, std::string>> annotations;
};

struct PerfettoTrack {
  uint64_t parent = 0;
  std::string name;
  std::string process;
  std::string thread;
};

// Decodes packet after packet.
class PerfettoStream {
 public:
  explicit PerfettoStream(std::string_view content);
  ~PerfettoStream();
  PerfettoStream(const PerfettoStream&) = delete;
  PerfettoStream& operator=(const PerfettoStream&) = delete;

  enum class Next { kEvent, kBadPacket, kTimeless, kEnd };
  // Goes on to the next event; what is no event is read in passing.
  Next next(PerfettoEvent* event);
  // At the end: the file ends inside a packet.
  bool cut_off() const;
  // As described so far, by uuid.
  const std::unordered_map<uint64_t, PerfettoTrack>& tracks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether the first packets are track events. Looks at 64 packets at most.
bool is_perfetto_trace(std::string_view content);

}  // namespace dfsim::inline datasets
