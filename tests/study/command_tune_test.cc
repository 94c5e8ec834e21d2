// Commands as shell scripts whose printed time is a known function, so that no result depends on
// how fast this machine is.
#include "study/tuning/command_tune.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <thread>

#include "study/tuning/command_metric.h"
#include "study/tuning/scaling_model.h"
#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

// Four cores on two nodes, two threads each: cores 0 and 2 on node 0.
std::vector<Cpu> eight_cpus() {
  return {{0, 0, 0}, {4, 0, 0}, {1, 1, 0}, {5, 1, 0}, {2, 2, 1}, {6, 2, 1}, {3, 3, 1}, {7, 3, 1}};
}

CommandTuneOptions shell(const std::string& script) {
  CommandTuneOptions options;
  options.command = {"sh", "-c", script};
  options.vary = {"threads=1", "processes=1", "placement=free"};
  return options;
}

std::string refused(const CommandTuneOptions& options) {
  const auto result = tune_command(options);
  REQUIRE_FALSE(result.ok());
  CHECK((result.status().code() == StatusCode::kInvalidInput ||
         result.status().code() == StatusCode::kNotFound));
  CHECK(result.status().message().find('\n') == std::string::npos);
  return result.status().message();
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("tune_command: finds the best of a known function in few runs") {
  // 10 + 16 / n per sample, and twice that unless MODE is b.
  CommandTuneOptions options = shell(
      "n={batch}; t=$((10000 + 160000 / n + 40 * n)); [ \"$MODE\" = b ] || t=$((2 * t)); "
      "echo time $((t * n)) us");
  options.vary.emplace_back("batch=1,2,4,8,16,32,64,128,256,512");
  options.vary.emplace_back("MODE=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p");
  options.time_metric = "time ([0-9]+) us";
  options.warm_ups = 0;
  const auto result = tune_command(options);
  INFO(result.status().message());
  REQUIRE(result.ok());
  const CommandMeasured& best = result->measured[result->best];
  // The least of 10000 + 160000 / n + 40 n is at n = 64.
  CHECK(mean_of(best.costs) <= 1.05 * (10000 + 160000 / 64 + 40 * 64));
  CHECK(result->search_runs <= 16);
  CHECK(result->ratio == Approx(mean_of(result->measured[0].costs) / mean_of(best.costs)));
  CHECK(result->decided);
  CHECK(result->noise == 0);
}

TEST_CASE("tune_command: a rate is better when it is higher, and copies add up") {
  CommandTuneOptions options = shell("echo rate 100 per s");
  options.rate_metric = "rate ([0-9.]+)";
  options.vary = {"threads=1", "processes=1,2", "placement=free"};
  options.threads = 2;
  const auto result = tune_command(options);
  REQUIRE(result.ok());
  if (result->space.cpus.size() < 2) {
    WARN("skipped: one processor");
    return;
  }
  CHECK(mean_of(result->measured[0].costs) == Approx(0.01));
  CHECK(mean_of(result->measured[result->best].costs) == Approx(0.005));
  CHECK(result->ratio == Approx(2));
}

TEST_CASE("tune_command: a setting that fails is reported and not chosen") {
  CommandTuneOptions options =
      shell("[ {batch} = 8 ] && { echo no memory >&2; exit 7; }; echo time 1 s");
  options.vary.emplace_back("batch=1,2,8");
  options.time_metric = "time ([0-9]+)";
  const auto result = tune_command(options);
  REQUIRE(result.ok());
  bool seen = false;
  for (const CommandMeasured& measured : result->measured) {
    if (!measured.failure.empty()) {
      CHECK(measured.failure == "ended with code 7: no memory");
      seen = true;
    }
  }
  CHECK(seen);
  CHECK(result->space.number(result->space.settings[result->measured[result->best].setting],
                             "batch", 0) == 2);
}

TEST_CASE("tune_command: commands that do not work are refused in one line") {
  CommandTuneOptions options = shell("true");
  options.command = {"no-such-program-anywhere"};
  CHECK(holds(refused(options), "no such program"));
  CHECK(holds(refused(shell("echo bad >&2; exit 3")), "ended with code 3: bad"));
  CHECK(holds(refused(shell("kill -9 $$")), "ended by signal 9"));
  options = shell("echo hello");
  options.time_metric = "time ([0-9]+)";
  CHECK(holds(refused(options), "matches no line"));
  options.time_metric = "hel(lo)";
  CHECK(holds(refused(options), "expected a number above 0"));
  options.time_metric = "(";
  CHECK(holds(refused(options), "not a regular expression"));
  options.time_metric = "hello";
  CHECK(holds(refused(options), "0 groups"));
  options = shell("sleep 100");
  options.limit_s = 0.2;
  const auto begin = std::chrono::steady_clock::now();
  CHECK(holds(refused(options), "ran for more than 0.2 s"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("tune_command: knobs that make no sense are refused in one line") {
  const std::vector<std::string> bad = {"batch",       "=1",           "threads=0", "threads=x",
                                        "placement=q", "batch=1,1",    "batch=1,2", "processes=-1",
                                        "inter=1.5",   "threads=1,,2", "A B=1,2"};
  for (const std::string& vary : bad) {
    CommandTuneOptions options = shell("true");
    options.vary = {vary};
    CAPTURE(vary);
    CHECK(refused(options).starts_with("--vary"));
  }
  CHECK(holds(refused(shell("echo {batch}")), "add --vary batch="));
}

TEST_CASE("command_space: the default comes first, and no copies share a processor") {
  const auto space = command_space({"run", "{batch}"}, {"batch=4,1"}, eight_cpus());
  REQUIRE(space.ok());
  CHECK(command_setting_text(*space, space->settings[0]) ==
        "threads 8, processes 1, placement free, batch 4");
  for (const SettingIndex& setting : space->settings) {
    CHECK(space->number(setting, "threads", 0) * space->number(setting, "processes", 0) <= 8);
  }
  // 10 pairs of threads and processes with a product of at most 8; 4 placements; 2 batches.
  CHECK(space->settings.size() == 80);
}

TEST_CASE("CommandSpace: a setting becomes arguments, variables and processors") {
  const auto space =
      command_space({"run", "--b={batch}"}, {"batch=2,3", "threads=2,8", "KMP=,x"}, eight_cpus());
  REQUIRE(space.ok());
  const SettingIndex setting = {0, 1, 1, 1, 0};  // 2 threads, 2 processes, compact, batch 3, unset
  const auto copies = space->copies(setting);
  REQUIRE(copies.ok());
  REQUIRE(copies->size() == 2);
  CHECK(copies->front().arguments == std::vector<std::string>{"run", "--b=3"});
  const std::vector<std::string>& variables = copies->front().environment;
  CHECK(std::count(variables.begin(), variables.end(), "OMP_NUM_THREADS=2") == 1);
  CHECK(std::count(variables.begin(), variables.end(), "KMP") == 1);
  CHECK((*copies)[0].cpus == std::vector<int>{0, 4});
  CHECK((*copies)[1].cpus == std::vector<int>{1, 5});
}

TEST_CASE("place_processes: spread takes a core of each node first, node takes whole nodes") {
  const auto spread = place_processes(eight_cpus(), "spread", 2, 2);
  REQUIRE(spread.ok());
  CHECK((*spread)[0] == std::vector<int>{0, 2});
  CHECK((*spread)[1] == std::vector<int>{1, 3});
  const auto node = place_processes(eight_cpus(), "node", 3, 4);
  REQUIRE(node.ok());
  CHECK((*node)[0] == std::vector<int>{0, 4, 1, 5});
  CHECK((*node)[1] == std::vector<int>{2, 6, 3, 7});
  CHECK((*node)[2] == (*node)[0]);
}

TEST_CASE("run_copies: a copy keeps to its processors and sees its variables") {
  const std::vector<Cpu> cpus = usable_cpus();
  CommandCopy copy;
  copy.arguments = {"sh", "-c",
                    "nproc; echo \"$DFSIM_A:${DFSIM_B-none}\"; head -c 9; cat >&2 </dev/null"};
  copy.environment = {"DFSIM_A=x y", "DFSIM_B"};
  copy.cpus = {cpus.back().id};
  ::setenv("DFSIM_B", "there", 1);
  const auto run = run_copies({copy}, 30);
  ::unsetenv("DFSIM_B");
  REQUIRE(run.ok());
  CHECK(run->failure.empty());
  CHECK(run->outputs.front() == "1\nx y:none\n");
}

TEST_CASE("run_copies: nothing that a copy started outlives it") {
  const TemporaryFolder folder("copies");
  CommandCopy copy;
  copy.arguments = {"sh", "-c", "sleep 300 & echo $!"};
  const auto run = run_copies({copy}, 30);
  REQUIRE(run.ok());
  const pid_t left = std::stoi(run->outputs.front());
  for (int i = 0; i < 200 && ::kill(left, 0) == 0; ++i) {
    // Killed at once; its new parent may take a moment to fetch its end.
    std::ifstream state("/proc/" + std::to_string(left) + "/stat");
    std::string id, name, letter;
    if (state >> id >> name >> letter && letter == "Z") {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(::kill(left, 0) != 0);
}

TEST_CASE("run_copies: much output does not block, and its end is kept") {
  CommandCopy copy;
  copy.arguments = {"sh", "-c", "yes line | head -c 8000000; echo last"};
  const auto run = run_copies({copy, copy}, 60);
  REQUIRE(run.ok());
  for (const std::string& output : run->outputs) {
    CHECK(output.size() < 3000000);
    CHECK(output.ends_with("last\n"));
  }
}

TEST_CASE("CommandMetric: the last match counts, and copies average or add up") {
  CommandRun run;
  run.wall_s = 6;
  run.outputs = {"t 9\nt 4\n", "t 2\n"};
  const auto metric_cost = [&run](const std::string& pattern, bool rate) {
    const auto metric = CommandMetric::make(pattern, rate);
    REQUIRE(metric.ok());
    return *metric->cost(run, 3);
  };
  CHECK(metric_cost("", false) == Approx(1));                  // 6 s for 2 x 3 samples
  CHECK(metric_cost("t ([0-9]+)", false) == Approx(3.0 / 6));  // mean of 4 and 2
  CHECK(metric_cost("t ([0-9]+)", true) == Approx(1.0 / 6));   // 4 + 2 per second
}

TEST_CASE("scaled_time: Amdahl, a saturated memory and the fork, by hand") {
  const ScalingModel model{
      .serial = 0.1, .compute = 0.5, .memory = 0.4, .saturation = 4, .fork = 0.01};
  CHECK(scaled_time(model, 1) == Approx(1));
  CHECK(scaled_time(model, 2) == Approx(0.1 + 0.25 + 0.2 + 0.01));
  CHECK(scaled_time(model, 8) == Approx(0.1 + 0.0625 + 0.1 + 0.03));
  // Two processes share what four cores draw.
  CHECK(scaled_time(model, 4, 2) == Approx(0.1 + 0.125 + 0.2 + 0.02));
}
