// Packets of a Perfetto trace, one after the other, with interned texts and times relative to the
// packet before. Slices and counters are packet sequences of their own, each with a track and a
// clock that its packets need not name; a window of packets is put in order of time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/io/proto_wire.h"
#include "base/units.h"

namespace dfsim::inline report {

// Annotations of a slice, as [name, value]; texts are interned.
class SliceArgs;

class PerfettoPackets {
 public:
  using TrackUuid = uint64_t;
  static constexpr TrackUuid kMainTrack = 1;
  static constexpr TrackUuid kMainCounter = 2;

  explicit PerfettoPackets(std::function<void(std::string_view)> sink);

  // A track that others lie under.
  TrackUuid add_process(std::string_view name);
  // `main`: most events are on it, and need not say so; at most one track.
  TrackUuid add_track(TrackUuid parent, std::string_view name, bool main = false);
  // A counter of bytes. The first one is the track that counts need not name.
  TrackUuid add_bytes_counter(TrackUuid parent, std::string_view name);
  // A counter of anything else. Same first track.
  TrackUuid add_counter(TrackUuid parent, std::string_view name);

  struct Slice {
    TimeNs time_ns = 0;
    TrackUuid track = 0;
    std::string_view category;
    std::string_view name;
    const SliceArgs* args = nullptr;
    // Arrows that leave it and that end at it.
    const std::vector<uint64_t>* leaving = nullptr;
    const std::vector<uint64_t>* arriving = nullptr;
  };
  void begin(const Slice& slice);
  void end(TrackUuid track, TimeNs time_ns);
  void count(TrackUuid track, TimeNs time_ns, int64_t value);
  // Hands what waits and what is buffered to the sink.
  void flush();

 private:
  friend class SliceArgs;

  // Numbers of texts, from 1; what is new goes into the next packet.
  struct Table {
    uint32_t field;  // in InternedData
    std::unordered_map<std::string, uint64_t> ids;
  };

  // Events that wait for earlier ones, as a heap.
  struct Waiting {
    TimeNs time_ns = 0;
    uint64_t number = 0;
    ProtoWriter event;
  };
  struct Sequence {
    uint64_t id = 0;
    TimeNs now_ns = 0;
    std::vector<Waiting> waiting;
  };

  void add_start(const Sequence& sequence, TrackUuid main_track);
  TrackUuid add_counter_of(TrackUuid parent, std::string_view name, uint64_t unit);
  uint64_t intern(Table* table, std::string_view text);
  void add_descriptor(const ProtoWriter& descriptor);
  void add_event(Sequence* sequence, TimeNs time_ns, ProtoWriter event);
  static bool later(const Waiting& a, const Waiting& b);
  // Writes the earliest of the waiting events.
  void write_event(Sequence* sequence);
  void add_packet(const ProtoWriter& packet);
  void write_buffer();

  std::function<void(std::string_view)> sink_;
  ProtoWriter buffer_;
  ProtoWriter interned_;
  Table categories_{1, {}};
  Table names_{2, {}};
  Table arg_names_{3, {}};
  Table arg_texts_{29, {}};
  Sequence slices_{1, 0, {}};
  Sequence counts_{2, 0, {}};
  uint64_t last_number_ = 0;
  TrackUuid last_track_ = kMainCounter;
  bool has_counter_ = false;
  int32_t last_process_ = 0;
};

class SliceArgs {
 public:
  explicit SliceArgs(PerfettoPackets* packets) : packets_(packets) {}
  SliceArgs& text(std::string_view name, std::string_view value);
  SliceArgs& number(std::string_view name, int64_t value);
  SliceArgs& real(std::string_view name, double value);
  // DebugAnnotations, as fields of a TrackEvent.
  const ProtoWriter& fields() const { return fields_; }

 private:
  PerfettoPackets* packets_;
  ProtoWriter fields_;
};

}  // namespace dfsim::inline report
