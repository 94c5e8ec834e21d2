// Chakra's and PyTorch's execution traces: graphs with durations or with nothing but an order.
#include "base/io/proto_wire.h"
#include "tests/traces/trace_test_tools.h"

namespace dfsim {
namespace {

struct ChakraNode {
  uint64_t id;
  std::string_view name;
  uint64_t type;
  uint64_t duration;
  std::vector<uint64_t> control;
  std::vector<uint64_t> data;
  bool on_host = true;
  uint64_t start = 0;
};

std::string chakra_file(const std::vector<ChakraNode>& nodes) {
  ProtoWriter file;
  const auto add = [&file](const ProtoWriter& message) {
    file.raw(message.text().size());
    ProtoWriter copy = message;
    file.append(copy);
  };
  ProtoWriter schema;
  schema.bytes(1, "schema").bytes(29, "1.0.1");
  add(ProtoWriter().message(2, schema));
  for (const ChakraNode& node : nodes) {
    ProtoWriter message;
    message.varint(1, node.id).bytes(2, node.name).varint(3, node.type);
    for (const uint64_t id : node.control) {
      message.varint(4, id);
    }
    ProtoWriter packed;
    for (const uint64_t id : node.data) {
      packed.raw(id);
    }
    message.bytes(5, packed.text()).varint(6, node.start).varint(7, node.duration);
    ProtoWriter host;
    host.bytes(1, "is_cpu_op").varint(27, node.on_host ? 1 : 0);
    ProtoWriter thread;
    thread.bytes(1, "tid").varint(9, node.on_host ? 1 : 7);
    add(message.message(10, host).message(10, thread));
  }
  return file.text();
}

TEST_CASE("Chakra: nodes without a start follow what they depend on and who is before them") {
  // b waits for a's data; k for b by control, on its own stream; c only for the thread.
  const auto trace =
      read_trace_content("t", chakra_file({{10, "a", 4, 5, {}, {}},
                                           {11, "b", 4, 3, {}, {10}},
                                           {12, "c", 4, 2, {}, {}},
                                           {13, "k", 4, 10, {11}, {}, false},
                                           {14, "ncclAllReduce", 7, 4, {11}, {13}, false}}));
  REQUIRE(trace.ok());
  CHECK(trace->format == "chakra");
  // a and c are ready at 0, b only at 5: c comes before it.
  CHECK(list_spans(*trace) == "a 0-5, c 5-7, b 7-10, k 10-20, ncclAllReduce 20-24");
  CHECK(warnings_of(*trace, "without a start") == 5);
  const Span& kernel = trace->spans[3];
  CHECK(kernel.kind == SpanKind::kKernel);
  CHECK(kernel.op == SpanId(2));
  CHECK(trace->track(kernel.track).kind == TrackKind::kDevice);
  CHECK(trace->spans[4].communication);
}

TEST_CASE("Chakra: starts count where they are, circles are left out") {
  const auto timed = read_trace_content(
      "t", chakra_file({{1, "a", 4, 5, {}, {}, true, 100}, {2, "b", 4, 3, {}, {1}, true, 200}}));
  REQUIRE(timed.ok());
  CHECK(list_spans(*timed) == "a 100-105, b 200-203");
  const auto circle = read_trace_content(
      "t", chakra_file({{1, "a", 4, 5, {}, {2}}, {2, "b", 4, 3, {}, {1}}, {3, "c", 4, 1, {}, {}}}));
  REQUIRE(circle.ok());
  CHECK(list_spans(*circle) == "c 0-1");
  CHECK(warnings_of(*circle, "depend on themselves") == 2);
}

TEST_CASE("Chakra as JSON, with the keys of either spelling") {
  const auto trace = read_trace_content("t", R"({"workload_graph":[
        {"Id":1,"Name":"op","NodeType":4,"ctrlDeps":[0],"data_deps":[],"runtime":9,"is_cpu_op":true},
        {"id":2,"name":"kernel","type":4,"ctrl_deps":[1],"runtime":3,"is_cpu_op":false},
        {"Id":3,"NodeType":4}]})");
  REQUIRE(trace.ok());
  CHECK(trace->format == "chakra");
  CHECK(list_spans(*trace) == "op 0-9, kernel 9-12");
  CHECK(warnings_of(*trace, "without a name") == 1);
}

TEST_CASE("Chakra: broken files end with what is whole, or one line") {
  check_every_cut(chakra_file({{1, "a", 4, 5, {}, {}}, {2, "b", 4, 3, {1}, {1}, false}}));
  const std::string whole = chakra_file({{1, "a", 4, 5, {}, {}}, {2, "b", 4, 3, {}, {}}});
  const auto cut = read_trace_content("t", whole.substr(0, whole.size() - 4));
  REQUIRE(cut.ok());
  CHECK(cut->spans.size() == 1);
  CHECK(warnings_of(*cut, "cut off") == 1);
}

constexpr std::string_view kOldNodes = R"json({"schema":"1.0.1","pid":1,"nodes":[
  {"name":"[pytorch|profiler|execution_graph|thread]","id":2,"parent":1,"tid":1,"scope":7,
   "inputs":[],"input_shapes":[],"input_types":[]},
  {"name":"aten::t","id":4,"parent":3,"tid":1,"scope":0,"input_shapes":[],"input_types":[]},
  {"name":"aten::linear","id":3,"parent":2,"tid":1,"scope":0,
   "input_shapes":[[8,64],[64,64]],"input_types":["Tensor(float)","Tensor(float)"]},
  {"name":"aten::addmm","id":5,"parent":3,"tid":1,"scope":0,"input_shapes":[],"input_types":[]},
  {"name":"step","id":6,"parent":2,"tid":1,"scope":7,"input_shapes":[],"input_types":[]}]})json";

TEST_CASE("PyTorch execution traces: the order and nesting of ids, one step for each leaf") {
  const auto trace = read_trace_content("t", std::string(kOldNodes));
  REQUIRE(trace.ok());
  CHECK(trace->format == "pytorch-et");
  CHECK(list_spans(*trace) == "aten::linear 0-2, aten::t 0-1, aten::addmm 1-2, step 2-3");
  CHECK(trace->text(trace->spans[0].detail) ==
        R"json([[8,64],[64,64]] ["Tensor(float)","Tensor(float)"])json");
  CHECK(trace->spans[1].parent == SpanId(size_t{0}));
  CHECK(trace->spans[3].kind == SpanKind::kAnnotation);
  CHECK(warnings_of(*trace, "without a time") == 3);
}

TEST_CASE("PyTorch execution traces: newer schema, circles, ids twice, cuts") {
  const auto trace = read_trace_content("t", R"({"schema":"1.1.1-chakra.0.0.4","nodes":[
      {"id":7,"name":"x","ctrl_deps":2,"inputs":{"values":[],"shapes":[[2]],"types":["Int"]},
       "attrs":[{"name":"tid","type":"uint64","value":3},{"name":"scope","type":"uint64","value":0}]},
      {"id":7,"name":"again","ctrl_deps":2},
      {"id":8,"name":"c1","ctrl_deps":9},{"id":9,"name":"c2","ctrl_deps":8},
      {"id":"no","name":"bad"}]})");
  REQUIRE(trace.ok());
  CHECK(list_spans(*trace) == "x 0-1");
  CHECK(trace->track(trace->spans[0].track).name == "thread 3");
  CHECK(warnings_of(*trace, "id of another") == 1);
  CHECK(warnings_of(*trace, "their own ancestors") == 2);
  CHECK(warnings_of(*trace, "without id") == 1);
  check_every_cut(std::string(kOldNodes));
}

}  // namespace
}  // namespace dfsim
