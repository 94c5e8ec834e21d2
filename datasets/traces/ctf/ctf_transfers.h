// TransferEvents: tensors that travel between workers. The rendezvous of TensorFlow tells when a
// tensor was asked for (rdv_recv) and produced (rdv_send), gRPC's tracepoints when the request
// went out and came in, and when the answer was encoded and came back. They share a key, not a
// thread, and each of them may be missing.
#pragma once

#include <map>
#include <string>

#include "datasets/traces/ctf/ctf_event.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

class TransferEvents {
 public:
  // Any tracepoint of grpcTracer, and rdv_send, rdv_recv.
  void take(const CtfEvent& event, std::string_view name, double time_us, TrackId track,
            const std::string& prefix, Trace* trace);
  // Once all spans are read: adds the transfers, and "Rendezvous wait" for each receiver that came
  // before its sender. A transfer without a recorded arrival arrives when the next operator starts
  // on the receiver's thread, or else on the receiver's worker.
  void finish(Trace* trace);

 private:
  struct Open {
    Transfer transfer;
    bool asked = false;
    bool produced = false;
    bool arrived = false;
    double encoded_us = -1;   // the last sign of it at the sender
    double prepared_us = -1;  // the sender began to answer
    bool remote = false;      // gRPC is involved
    std::string prefix;
  };

  Open& open_for(const std::string& key, double time_us, const std::string& prefix, Trace* trace);
  void close(const std::string& key, Trace* trace);
  void call(const CtfEvent& event, std::string_view name, double time_us, TrackId track,
            const std::string& prefix, Trace* trace);

  std::map<std::string, Open> open_;  // by key
  std::vector<Open> done_;
  std::map<TrackId, std::string> last_key_;                  // that the thread worked on
  std::map<std::string, std::pair<double, TrackId>> calls_;  // sent and not received, by name
};

}  // namespace dfsim::inline datasets
