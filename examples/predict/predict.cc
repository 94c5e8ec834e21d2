// Predicts how long a model takes on a machine and which operators take most of that time.
//   predict MODEL MACHINE [BATCH]
// MODEL is an ONNX or TensorFlow file, MACHINE a hardware file or the name of a built-in one.
#include "study/prediction/predict.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: predict MODEL MACHINE [BATCH]\n");
    return 2;
  }
  dfsim::PredictOptions options;
  options.model.path = argv[1];
  options.hardware = argv[2];
  options.model.batch = argc > 3 ? std::atoi(argv[3]) : 0;  // 0: what the model says

  // A study prints nothing. It announces each step here, and an error returned here would end it.
  dfsim::Progress progress;
  progress.on_stage = [](const std::string& step) {
    std::fprintf(stderr, "%s\n", step.c_str());
    return dfsim::ok_status();
  };

  const auto prediction = dfsim::predict(options, progress);
  if (!prediction.ok()) {
    std::fprintf(stderr, "%s\n", prediction.status().message().c_str());
    return 2;
  }
  std::printf("%s on %s, batch %lld: %s, 80 %% interval %s to %s\n", prediction->model.c_str(),
              prediction->hardware.c_str(), static_cast<long long>(prediction->batch),
              dfsim::format_time(prediction->latency_ns).c_str(),
              dfsim::format_time(prediction->interval.low_ns).c_str(),
              dfsim::format_time(prediction->interval.high_ns).c_str());
  for (const dfsim::Share& share : prediction->classes) {
    std::printf("  %-14s %5zu operators  %10s  %5.1f %%\n", share.name.c_str(), share.ops,
                dfsim::format_time(share.time_ns).c_str(), 100 * share.fraction);
  }
  return 0;
}
