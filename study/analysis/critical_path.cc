// A graph with two nodes per span, its begin and its end, and edges for everything that makes
// one wait for another: nesting and order on threads, order on queues, launches, and
// synchronisation. The path is the longest one through it; rules and thresholds are those of
// HolisticTraceAnalysis, so that results can be compared.
#include "study/analysis/critical_path.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

namespace dfsim::inline study {
namespace {

enum class EdgeType : uint8_t { kWork, kDependency, kLaunch, kKernelGap, kSync };

// Node 2 s is the begin of span s, 2 s + 1 its end.
uint32_t begin_of(SpanId span) { return 2 * span.value(); }
uint32_t end_of(SpanId span) { return 2 * span.value() + 1; }
SpanId span_of(uint32_t node) { return SpanId(node / 2); }
bool is_begin(uint32_t node) { return node % 2 == 0; }

struct PathEdge {
  uint32_t from = 0;
  uint32_t to = 0;
  double weight_us = 0;
  EdgeType type = EdgeType::kWork;
  SpanId owner;  // whose time it is
};

// Work that waits for the work before it begins at once when that ends; after a longer gap it was
// something else that kept it. HolisticTraceAnalysis's threshold.
constexpr double kLongestGapUs = 1500;

// Calls that may wait for the device.
bool is_blocking(std::string_view name) {
  constexpr std::array<std::string_view, 12> kCalls = {"cudaDeviceSynchronize",
                                                       "cudaStreamSynchronize",
                                                       "cudaEventQuery",
                                                       "cudaEventSynchronize",
                                                       "cudaMemcpy",
                                                       "cudaMemcpyAsync",
                                                       "hipMemcpy",
                                                       "hipMemcpyAsync",
                                                       "hipDeviceSynchronize",
                                                       "hipStreamSynchronize",
                                                       "hipEventQuery",
                                                       "hipEventSynchronize"};
  return std::find(kCalls.begin(), kCalls.end(), name) != kCalls.end();
}

bool is_host_node(SpanKind kind) { return kind == SpanKind::kOp || kind == SpanKind::kRuntime; }

class PathFinder {
 public:
  explicit PathFinder(const Trace& trace) : trace_(trace) {}

  TracePath find() {
    chain_threads();
    count_queues();
    chain_queues();
    return longest_path();
  }

 private:
  double time_of(uint32_t node) const {
    const Span& span = trace_.span(span_of(node));
    return is_begin(node) ? span.start_us : span.end_us;
  }

  void add(uint32_t from, uint32_t to, EdgeType type, bool weightless, SpanId owner) {
    const bool no_weight = weightless || type == EdgeType::kDependency || type == EdgeType::kSync;
    // Clocks of host and device differ a little: time never runs backwards.
    const double weight = no_weight ? 0 : std::max(0.0, time_of(to) - time_of(from));
    edges_.push_back({from, to, weight, type, owner});
  }

  // Host nodes of each thread: as they nest, and top-level ones after each other.
  struct Thread {
    std::vector<SpanId> open;
    uint32_t last = UINT32_MAX;  // the last node inside the open top-level span
    uint32_t last_top = UINT32_MAX;
  };

  void leave(Thread* thread) {
    const SpanId span = thread->open.back();
    thread->open.pop_back();
    const bool blocking = is_blocking(trace_.text(trace_.span(span).name));
    add(thread->last, end_of(span), EdgeType::kWork, blocking, span);
    thread->last = end_of(span);
    if (thread->open.empty()) {
      thread->last = UINT32_MAX;
      thread->last_top = end_of(span);
    }
  }

  void enter(Thread* thread, SpanId span) {
    if (thread->open.empty()) {
      if (thread->last_top != UINT32_MAX) {
        add(thread->last_top, begin_of(span), EdgeType::kDependency, true, SpanId());
      }
    } else {
      add(thread->last, begin_of(span), EdgeType::kWork, false, thread->open.back());
    }
    thread->last = begin_of(span);
    thread->open.push_back(span);
  }

  void chain_threads() {
    std::vector<Thread> threads(trace_.tracks.size());
    std::vector<std::vector<SpanId>> spans(trace_.tracks.size());
    for (size_t i = 0; i < trace_.spans.size(); ++i) {
      // Spans without a duration add nothing, and neither do calls on the way.
      if (is_host_node(trace_.spans[i].kind) && trace_.spans[i].duration_us() > 0 &&
          trace_.track(trace_.spans[i].track).kind == TrackKind::kHost) {
        spans[trace_.spans[i].track.index()].push_back(SpanId(i));
      }
    }
    for (size_t t = 0; t < spans.size(); ++t) {
      Thread& thread = threads[t];
      for (const SpanId span : spans[t]) {
        while (!thread.open.empty() &&
               trace_.span(thread.open.back()).end_us <= trace_.span(span).start_us) {
          leave(&thread);
        }
        enter(&thread, span);
      }
      while (!thread.open.empty()) {
        leave(&thread);
      }
    }
  }

  // How much is launched and not begun at each launch and at each begin, per queue.
  void count_queues() {
    struct Change {
      double time_us;
      SpanId work;
      int step;
    };
    std::map<TrackId, std::vector<Change>> queues;
    for (size_t i = 0; i < trace_.spans.size(); ++i) {
      const Span& span = trace_.spans[i];
      if (is_device_work(span.kind) && span.launch.valid()) {
        const double launched_us = trace_.span(span.launch).start_us;
        queues[span.track].push_back({launched_us, SpanId(i), 1});
        queues[span.track].push_back({span.start_us, SpanId(i), -1});
        launches_[span.track].emplace_back(launched_us, SpanId(i));
      }
    }
    at_launch_.assign(trace_.spans.size(), 0);
    at_begin_.assign(trace_.spans.size(), 0);
    for (auto& [track, changes] : queues) {
      std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        return a.time_us != b.time_us ? a.time_us < b.time_us : a.step > b.step;
      });
      int length = 0;
      for (const Change& change : changes) {
        length += change.step;
        (change.step > 0 ? at_launch_ : at_begin_)[change.work.index()] = length;
      }
    }
    for (auto& [track, list] : launches_) {
      std::sort(list.begin(), list.end());
    }
  }

  // Device work and waits in the order in which they can be known: work by its begin, waits by
  // their end.
  void chain_queues() {
    std::vector<std::pair<double, SpanId>> rows;
    std::unordered_map<SpanId, SyncTarget> targets;
    for (const SyncTarget& sync : trace_.syncs) {
      targets[sync.span] = sync;
    }
    for (size_t i = 0; i < trace_.spans.size(); ++i) {
      const Span& span = trace_.spans[i];
      if (span.launch.valid() && is_device_work(span.kind)) {
        rows.emplace_back(span.start_us, SpanId(i));
      } else if (span.launch.valid() && span.kind == SpanKind::kSync) {
        rows.emplace_back(span.end_us, SpanId(i));
      }
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    find_records();
    for (const auto& [time_us, id] : rows) {
      if (trace_.span(id).kind == SpanKind::kSync) {
        wait(id, targets[id]);
      } else {
        work(id);
      }
    }
  }

  // When the calls that record events were made.
  void find_records() {
    for (const Span& span : trace_.spans) {
      const std::string& name = trace_.text(span.name);
      if (span.kind == SpanKind::kRuntime && span.correlation >= 0 &&
          (name == "cudaEventRecord" || name == "hipEventRecord")) {
        recorded_us_[span.correlation] = span.start_us;
      }
    }
  }

  // The queue of that stream on the device of `near`.
  const std::vector<std::pair<double, SpanId>>* launches_on(int64_t stream, SpanId near) const {
    const Track& around = trace_.track(trace_.span(near).track);
    for (const auto& [track, list] : launches_) {
      const Track& candidate = trace_.track(track);
      const std::string text = std::to_string(stream);
      if (candidate.device == around.device &&
          (candidate.name == text || candidate.name == "stream " + text ||
           candidate.name.starts_with("stream " + text + " "))) {
        return &list;
      }
    }
    return nullptr;
  }

  // The last work that was launched on the awaited stream before the event was recorded.
  SpanId awaited_work(SpanId sync, const SyncTarget& target) const {
    const auto recorded = recorded_us_.find(target.record_correlation);
    const auto* const list = launches_on(target.stream, sync);
    if (recorded == recorded_us_.end() || list == nullptr) {
      return SpanId();
    }
    const auto after =
        std::upper_bound(list->begin(), list->end(), recorded->second,
                         [](double time_us, const auto& launch) { return time_us < launch.first; });
    return after == list->begin() ? SpanId() : (after - 1)->second;
  }

  void wait(SpanId id, const SyncTarget& target) {
    const Span& sync = trace_.span(id);
    const std::string& name = trace_.text(sync.name);
    const uint32_t call_end = end_of(sync.launch);
    if (name == "Context Sync" || name == "Device Sync") {
      for (const auto& [track, last] : last_of_) {
        add(end_of(last), call_end, EdgeType::kSync, true, SpanId());
      }
    } else if (name == "Stream Sync") {
      const auto last = last_of_.find(sync.track);
      if (last != last_of_.end()) {
        add(end_of(last->second), call_end, EdgeType::kSync, true, SpanId());
      }
    } else if (name == "Event Sync") {
      const SpanId source = awaited_work(id, target);
      if (source.valid()) {
        add(end_of(source), call_end, EdgeType::kSync, true, SpanId());
      }
    } else if (name == "Stream Wait Event") {
      const SpanId source = awaited_work(id, target);
      const SpanId next = next_launched(sync.track, trace_.span(sync.launch));
      if (source.valid() && next.valid() && trace_.span(source).track != trace_.span(next).track) {
        awaits_[next] = source;
      }
    }
  }

  // The work that the same thread launches next on the queue, after `call`.
  SpanId next_launched(TrackId queue, const Span& call) const {
    const auto list = launches_.find(queue);
    if (list == launches_.end()) {
      return SpanId();
    }
    for (auto it = std::lower_bound(list->second.begin(), list->second.end(),
                                    std::pair(call.start_us, SpanId(0)));
         it != list->second.end(); ++it) {
      if (trace_.span(trace_.span(it->second).launch).track == call.track) {
        return it->second;
      }
    }
    return SpanId();
  }

  void work(SpanId id) {
    const Span& span = trace_.span(id);
    add(begin_of(id), end_of(id), EdgeType::kWork, false, id);
    const double launched_us = trace_.span(span.launch).start_us;
    const auto awaited = awaits_.find(id);
    if (awaited != awaits_.end()) {
      add(end_of(awaited->second), begin_of(id), EdgeType::kSync, true, SpanId());
    }
    const double awaited_us = awaited == awaits_.end() ? -1 : trace_.span(awaited->second).end_us;
    const auto last = last_of_.find(span.track);
    const bool follows = last != last_of_.end();
    const double last_us = follows ? trace_.span(last->second).end_us : -1;
    const bool empty_queue = at_launch_[id.index()] == 1 && at_begin_[id.index()] == 0;
    if (empty_queue && (!follows || last_us < launched_us) && awaited_us < launched_us) {
      add(begin_of(span.launch), begin_of(id), EdgeType::kLaunch, false, id);
    } else if (follows && (awaited == awaits_.end() || awaited_us < last_us) &&
               span.start_us - last_us <= kLongestGapUs) {
      add(end_of(last->second), begin_of(id), EdgeType::kKernelGap, false, last->second);
    }
    last_of_[span.track] = id;
  }

  PathClass class_of(const PathEdge& edge) const {
    if (edge.type == EdgeType::kLaunch) {
      return PathClass::kLaunch;
    }
    if (edge.type == EdgeType::kKernelGap) {
      return PathClass::kKernelGap;
    }
    const Span& span = trace_.span(edge.owner);
    if (!is_device_work(span.kind)) {
      return PathClass::kHost;
    }
    if (span.communication) {
      return PathClass::kCommunication;
    }
    return span.kind == SpanKind::kKernel ? PathClass::kCompute : PathClass::kData;
  }

  // Kahn's order first in, first out, and the first of equally long ways: the result is the same
  // in every run.
  TracePath longest_path() const {
    const size_t nodes = 2 * trace_.spans.size();
    std::vector<uint32_t> first(nodes + 1, 0);
    std::vector<uint32_t> indegree(nodes, 0);
    for (const PathEdge& edge : edges_) {
      ++first[edge.from + 1];
      ++indegree[edge.to];
    }
    for (size_t n = 0; n < nodes; ++n) {
      first[n + 1] += first[n];
    }
    std::vector<uint32_t> out(edges_.size());
    std::vector<uint32_t> fill(first.begin(), first.end() - 1);
    for (size_t e = 0; e < edges_.size(); ++e) {
      out[fill[edges_[e].from]++] = static_cast<uint32_t>(e);
    }
    std::vector<bool> queued(nodes, false);
    std::deque<uint32_t> ready;
    for (const PathEdge& edge : edges_) {
      if (indegree[edge.from] == 0 && !queued[edge.from]) {
        queued[edge.from] = true;
        ready.push_back(edge.from);
      }
    }
    std::vector<double> length(nodes, 0);
    std::vector<uint32_t> via(nodes, UINT32_MAX);  // the edge of the longest way here
    uint32_t last = UINT32_MAX;
    while (!ready.empty()) {
      const uint32_t node = ready.front();
      ready.pop_front();
      if (last == UINT32_MAX || length[node] > length[last]) {
        last = node;
      }
      for (uint32_t i = first[node]; i < first[node + 1]; ++i) {
        const PathEdge& edge = edges_[out[i]];
        const double reached = length[node] + edge.weight_us;
        if (via[edge.to] == UINT32_MAX || reached > length[edge.to] ||
            (reached == length[edge.to] && out[i] < via[edge.to])) {
          length[edge.to] = reached;
          via[edge.to] = out[i];
        }
        if (--indegree[edge.to] == 0) {
          ready.push_back(edge.to);
        }
      }
    }
    return last == UINT32_MAX ? TracePath() : path_to(last, length[last], via);
  }

  TracePath path_to(uint32_t last, double length_us, const std::vector<uint32_t>& via) const {
    TracePath path;
    path.length_us = length_us;
    std::vector<uint32_t> steps;
    std::vector<uint32_t> nodes = {last};
    for (uint32_t node = last; via[node] != UINT32_MAX; node = edges_[via[node]].from) {
      steps.push_back(via[node]);
      nodes.push_back(edges_[via[node]].from);
    }
    std::unordered_map<SpanId, size_t> position;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (position.try_emplace(span_of(*node), path.spans.size()).second) {
        path.spans.push_back(span_of(*node));
      }
    }
    path.weight_us.assign(path.spans.size(), 0);
    path.edges = static_cast<int64_t>(steps.size());
    for (const uint32_t step : steps) {
      const PathEdge& edge = edges_[step];
      if (!edge.owner.valid()) {
        continue;
      }
      path.class_us[static_cast<size_t>(class_of(edge))] += edge.weight_us;
      const auto at = position.find(edge.owner);
      if (at != position.end()) {
        path.weight_us[at->second] += edge.weight_us;
      }
    }
    return path;
  }

  const Trace& trace_;
  std::vector<PathEdge> edges_;
  std::vector<int> at_launch_;  // by span: what is outstanding in its queue once it is launched
  std::vector<int> at_begin_;   // and once it has begun
  std::map<TrackId, std::vector<std::pair<double, SpanId>>> launches_;
  std::unordered_map<int64_t, double> recorded_us_;
  std::unordered_map<SpanId, SpanId> awaits_;
  std::map<TrackId, SpanId> last_of_;
};

}  // namespace

std::string_view path_class_name(PathClass path_class) {
  constexpr std::array<std::string_view, kPathClassCount> kNames = {
      "host", "compute", "communication", "data", "launch", "kernel-gap", "calls", "host-gap"};
  return kNames[static_cast<size_t>(path_class)];
}

TracePath find_trace_path(const Trace& trace) { return PathFinder(trace).find(); }

}  // namespace dfsim::inline study
