// Two writers of one form: steps and requests become slices with arguments and counters, which a
// sink puts into JSON or into Perfetto's packets.
//
// Requests are known as a whole when they finish. A lane takes a request that arrives after the one
// before it has ended, so slices of a lane never overlap.
#include "report/trace/serving_trace.h"

#include <fmt/format.h>

#include <utility>

#include "base/io/text_file.h"
#include "base/json/json_tree.h"
#include "report/trace/perfetto_packets.h"
#include "report/trace/trace_file.h"

namespace dfsim::inline report {
namespace {

using TraceArgs = std::vector<std::pair<std::string, double>>;

// Where slices and counters go. Processes and tracks have numbers from 0, in order of creation.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual size_t add_process(const std::string& name) = 0;
  virtual size_t add_track(size_t process, const std::string& name) = 0;
  virtual size_t add_counter(size_t process, const std::string& name) = 0;
  virtual void slice(size_t track, TimeNs start_ns, TimeNs end_ns, const std::string& name,
                     const TraceArgs& args) = 0;
  virtual void count(size_t counter, TimeNs time_ns, int64_t value) = 0;
  virtual void finish() = 0;
};

// Keeps the first error of a writer.
class ServingFile {
 public:
  explicit ServingFile(TextWriter writer) : writer_(std::move(writer)) {}
  void write(std::string_view piece) {
    if (written_.ok()) {
      written_ = writer_.append(piece);
    }
  }
  Status close() {
    DFSIM_RETURN_IF_ERROR(written_);
    return writer_.close();
  }

 private:
  TextWriter writer_;
  Status written_;
};

class JsonSink final : public TraceSink {
 public:
  explicit JsonSink(ServingFile* file) : file_(file) {
    file_->write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  }

  size_t add_process(const std::string& name) override {
    name_event("process_name", processes_, 0, name);
    return processes_++;
  }
  size_t add_track(size_t process, const std::string& name) override {
    name_event("thread_name", process, tracks_.size(), name);
    tracks_.push_back({process, name});
    return tracks_.size() - 1;
  }
  size_t add_counter(size_t process, const std::string& name) override {
    tracks_.push_back({process, name});
    return tracks_.size() - 1;
  }
  void slice(size_t track, TimeNs start_ns, TimeNs end_ns, const std::string& name,
             const TraceArgs& args) override {
    std::string texts;
    for (const auto& [key, value] : args) {
      texts += fmt::format("{}{}:{:.6g}", texts.empty() ? "" : ",", text(key), value);
    }
    event(fmt::format(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                      text(name), tracks_[track].process, track, us(start_ns),
                      us(end_ns - start_ns), texts));
  }
  void count(size_t counter, TimeNs time_ns, int64_t value) override {
    event(fmt::format(R"({{"ph":"C","name":{},"pid":{},"tid":0,"ts":{},"args":{{"value":{}}}}})",
                      text(tracks_[counter].name), tracks_[counter].process, us(time_ns), value));
  }
  void finish() override { file_->write("\n]}\n"); }

 private:
  struct Track {
    size_t process;
    std::string name;
  };
  static std::string text(const std::string& value) { return JsonTree(value).compact_text(); }
  static std::string us(TimeNs time_ns) {
    return fmt::format("{}.{:03}", time_ns / kNsPerUs, time_ns % kNsPerUs);
  }
  void event(const std::string& json) {
    file_->write(first_ ? json : ",\n" + json);
    first_ = false;
  }
  void name_event(const char* kind, size_t process, size_t thread, const std::string& name) {
    event(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", kind,
                      process, thread, text(name)));
  }

  ServingFile* file_;
  size_t processes_ = 0;
  std::vector<Track> tracks_;
  bool first_ = true;
};

class PacketSink final : public TraceSink {
 public:
  explicit PacketSink(ServingFile* file)
      : packets_([file](std::string_view piece) { file->write(piece); }) {}

  size_t add_process(const std::string& name) override {
    processes_.push_back(packets_.add_process(name));
    return processes_.size() - 1;
  }
  size_t add_track(size_t process, const std::string& name) override {
    tracks_.push_back(packets_.add_track(processes_[process], name));
    return tracks_.size() - 1;
  }
  size_t add_counter(size_t process, const std::string& name) override {
    tracks_.push_back(packets_.add_counter(processes_[process], name));
    return tracks_.size() - 1;
  }
  void slice(size_t track, TimeNs start_ns, TimeNs end_ns, const std::string& name,
             const TraceArgs& args) override {
    SliceArgs fields(&packets_);
    for (const auto& [key, value] : args) {
      fields.real(key, value);
    }
    packets_.begin({start_ns, tracks_[track], "serving", name, &fields});
    packets_.end(tracks_[track], end_ns);
  }
  void count(size_t counter, TimeNs time_ns, int64_t value) override {
    packets_.count(tracks_[counter], time_ns, value);
  }
  void finish() override { packets_.flush(); }

 private:
  PerfettoPackets packets_;
  std::vector<PerfettoPackets::TrackUuid> processes_;
  std::vector<PerfettoPackets::TrackUuid> tracks_;
};

class ServingTraceImpl final : public ServingTrace {
 public:
  ServingTraceImpl(TextWriter writer, bool packets, const std::vector<std::string>& replicas)
      : file_(std::move(writer)) {
    sink_ = packets ? std::unique_ptr<TraceSink>(std::make_unique<PacketSink>(&file_))
                    : std::unique_ptr<TraceSink>(std::make_unique<JsonSink>(&file_));
    for (const std::string& name : replicas) {
      const size_t process = sink_->add_process(name);
      replicas_.push_back({sink_->add_track(process, "engine steps"),
                           sink_->add_counter(process, "running sequences"),
                           sink_->add_counter(process, "waiting requests"),
                           sink_->add_counter(process, "cache blocks in use")});
    }
    requests_ = sink_->add_process("requests");
  }

  void step(const StepRecord& record) override {
    const ReplicaTracks& tracks = replicas_[static_cast<size_t>(record.replica)];
    TraceArgs args = {{"decoding sequences", static_cast<double>(record.decodes)},
                      {"prompts", static_cast<double>(record.prefills)},
                      {"prompt tokens", static_cast<double>(record.prefill_tokens)},
                      {"steps", static_cast<double>(record.steps)}};
    for (size_t part = 0; part < record.split_ns.size(); ++part) {
      if (record.split_ns[part] > 0) {
        args.emplace_back(fmt::format("{} us", step_part_name(static_cast<StepPart>(part))),
                          record.split_ns[part] * 1e-3);
      }
    }
    const char* const name = record.prefills == 0  ? "decode"
                             : record.decodes == 0 ? "prefill"
                                                   : "prefill and decode";
    sink_->slice(tracks.steps, record.start_ns, record.end_ns, name, args);
    sink_->count(tracks.running, record.start_ns, record.decodes + record.prefills);
    sink_->count(tracks.waiting, record.start_ns, record.waiting);
    sink_->count(tracks.blocks, record.end_ns, record.held_blocks);
  }

  void finished(const Sequence& sequence) override {
    const TimeNs arrival_ns = sequence.spec.arrival_ns;
    Lane& lane = lane_from(arrival_ns);
    const TraceArgs args = {{"request", static_cast<double>(sequence.spec.id)},
                            {"prompt tokens", static_cast<double>(sequence.spec.prompt_tokens)},
                            {"output tokens", static_cast<double>(sequence.spec.output_tokens)},
                            {"preemptions", static_cast<double>(sequence.preemptions)}};
    phase(lane, arrival_ns, sequence.admitted_ns, "queue", args);
    phase(lane, sequence.admitted_ns, sequence.first_token_ns, "prefill", args);
    phase(lane, sequence.first_token_ns, sequence.last_token_ns, "decode", args);
    lane.end_ns = sequence.last_token_ns;
  }

  Status close() override {
    sink_->finish();
    return file_.close();
  }

 private:
  struct ReplicaTracks {
    size_t steps, running, waiting, blocks;
  };
  struct Lane {
    size_t track = 0;
    TimeNs end_ns = 0;
  };

  void phase(const Lane& lane, TimeNs start_ns, TimeNs end_ns, const char* name,
             const TraceArgs& args) {
    if (end_ns > start_ns && start_ns >= 0) {
      sink_->slice(lane.track, start_ns, end_ns, name, args);
    }
  }
  Lane& lane_from(TimeNs arrival_ns) {
    for (Lane& lane : lanes_) {
      if (lane.end_ns <= arrival_ns) {
        return lane;
      }
    }
    lanes_.push_back({sink_->add_track(requests_, fmt::format("lane {}", lanes_.size())), 0});
    return lanes_.back();
  }

  ServingFile file_;
  std::unique_ptr<TraceSink> sink_;
  std::vector<ReplicaTracks> replicas_;
  size_t requests_ = 0;
  std::vector<Lane> lanes_;
};

}  // namespace

StatusOr<std::unique_ptr<ServingTrace>> ServingTrace::open(
    const std::string& path, const std::vector<std::string>& replicas) {
  DFSIM_ASSIGN_OR_RETURN(TextWriter writer, TextWriter::open(path));
  return std::unique_ptr<ServingTrace>(
      std::make_unique<ServingTraceImpl>(std::move(writer), is_perfetto_file(path), replicas));
}

}  // namespace dfsim::inline report
