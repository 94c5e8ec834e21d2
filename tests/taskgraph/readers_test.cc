#include <catch2/catch.hpp>

#include <map>
#include <utility>

#include "graphs/taskgraph/task_graph.h"
#include "graphs/taskgraph/triplet_cluster.h"
#include "tests/taskgraph/temp_file.h"

using namespace dfsim;
using dfsim::testing::TempFile;

namespace {

TaskGraph read(std::string_view content) {
  const TempFile file(content);
  auto result = read_task_graph(file.path());
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(result).value();
}

// The error's message with the file's name cut off.
std::string error(std::string_view content) {
  const TempFile file(content);
  const auto result = read_task_graph(file.path());
  REQUIRE_FALSE(result.ok());
  std::string message = result.status().message();
  REQUIRE(message.starts_with(file.path()));
  return message.substr(file.path().size());
}

TimeNs time_of(const TaskGraph& graph, size_t task, size_t column = 0) {
  return graph.times_ns[graph.graph.cost_row(TaskId(task)) * graph.columns() + column];
}

}  // namespace

TEST_CASE("STG: reads numbers, comments, and dummies that count or not") {
  const TaskGraph graph = read("2\n 0 0 0\n 1 9 1 0 # note\n 2 4.25 1 0\n 3 0 2 1 2\n# end\n");
  CHECK(graph.format == "stg");
  CHECK(graph.graph.task_count() == 4);
  CHECK(graph.graph.edge_count() == 4);
  CHECK(time_of(graph, 1) == 9 * kNsPerFileUnit);
  CHECK(time_of(graph, 2) == 4'250'000);
  CHECK(graph.graph.name(TaskId(size_t{3})) == "t3");
  CHECK(read("1\n0 5 0\n").graph.task_count() == 1);
  CHECK(read("0\n").graph.task_count() == 0);
}

TEST_CASE("STG: errors of malformed input name the line") {
  CHECK(error("2\n0 1 0\n") ==
        ":3: the file ends after 1 tasks; the first line says 2 (plus two dummies or none)");
  CHECK(error("1\n0 -3 0\n") ==
        ":2: the time of task 0 is -3; expected a number from 0 to 2.31e+12 that is not NaN");
  CHECK(error("1\n0 nan 0\n").starts_with(":2: the time of task 0 is nan"));
  CHECK(error("1\n0 x 0\n") == ":2: found 'x', expected the time of task 0");
  CHECK(error("1\n0 1 1 7\n") == ": task 0 names predecessor 7, but the file has tasks 0 to 0");
  CHECK(error("1\n0 1 99999999999999999999\n").starts_with(":2: found '99999"));
  CHECK(error("1\n5 1 0\n") == ":2: found '5', expected the number of task 0");
  CHECK(error("0\n0 1 0\n1 1 0\n2 1 0\n").starts_with(":4: task 2 is one too many"));
  CHECK(error("2\n0 1 1 1\n1 1 1 0\n").find("cycle") != std::string::npos);
  CHECK(error("1\n0 1 1 0\n").find("cycle") != std::string::npos);
}

TEST_CASE("STG: a file that is not sorted keeps its numbers as names") {
  const TaskGraph graph = read("2\n0 3 1 1\n1 4 0\n");
  CHECK(graph.graph.name(TaskId(size_t{0})) == "t1");
  CHECK(time_of(graph, 0) == 4 * kNsPerFileUnit);
}

TEST_CASE("DOT: reads weights, chains, defaults, quoting, comments and subgraphs") {
  const TaskGraph graph = read(R"(// a comment
strict digraph "my graph" {
  graph [CCR=10.0, "No of edges"=3]; rankdir=LR
  /* more */ node [Weight=2, shape=box]
  edge [weight=0.5];
  a [Weight=10]; "b c" [label=<x<b>y</b>>, Weight="7.5"]
  a -> "b c" [Weight=3] ; a -> d:n -> e
  subgraph cluster_0 { f -> e; }
})");
  CHECK(graph.name == "my graph");
  REQUIRE(graph.graph.task_count() == 5);
  CHECK(graph.graph.edge_count() == 4);
  CHECK(graph.comm == CommKind::kDelay);
  CHECK_FALSE(graph.has_unit);
  CHECK(graph.graph.name(TaskId(size_t{1})) == "b c");
  CHECK(time_of(graph, 1) == 7'500'000);
  CHECK(time_of(graph, 2) == 2 * kNsPerFileUnit);
  const auto edges = graph.graph.out_edges(TaskId(size_t{0}));
  REQUIRE(edges.size() == 2);
  CHECK(graph.graph.edge_bytes(edges[0]) == 3 * kNsPerFileUnit);
  CHECK(graph.graph.edge_bytes(edges[1]) == 500'000);
}

TEST_CASE("DOT: errors of malformed input name the line") {
  CHECK(error("digraph {\n a -> b\n}") ==
        ":2: node 'a' has no Weight; write a [Weight=...]; or give all nodes a default");
  CHECK(error("digraph {\n a [Weight=-1]\n}").starts_with(":2: the Weight is -1"));
  CHECK(error("digraph {\n a [Weight=x]\n}") == ":2: found 'x', expected a number as Weight");
  CHECK(error("digraph {\n a ->\n}") == ":3: found '}', expected the node that the edge leads to");
  CHECK(error("digraph {\n a [Weight=1") ==
        ":2: the file ends where an attribute name or ']' is expected");
  CHECK(error("graph { a -- b }") == ":1: found 'graph', expected 'digraph'");
  CHECK(error("digraph { \n\"a") == ":2: the quoted text that starts here never ends");
  CHECK(error("digraph { a -- b }") ==
        ":1: found '--', expected '->': dependencies have a direction");
  CHECK(error("digraph {node [Weight=1]; a -> b -> c -> a}").find("cycle; 3 tasks") !=
        std::string::npos);
  CHECK(error("digraph {" + std::string(100, '{')).find("nested over 64") != std::string::npos);
  CHECK(error("digraph {} x") == ":1: found 'x', expected nothing after the graph");
}

TEST_CASE("WfFormat: files become data items shared by their readers") {
  const TaskGraph graph = read(R"({"name": "w", "schemaVersion": "1.5", "workflow": {
    "specification": {
      "tasks": [
        {"name": "A", "id": "a", "parents": [], "children": ["b", "c"],
         "inputFiles": ["in"], "outputFiles": ["x"]},
        {"name": "B", "id": "b", "parents": ["a"], "children": [], "inputFiles": ["x"]},
        {"name": "C", "id": "c", "parents": ["a"], "children": [], "inputFiles": []}],
      "files": [{"id": "x", "sizeInBytes": 1000}, {"id": "in", "sizeInBytes": 5}]},
    "execution": {"makespanInSeconds": 9,
      "tasks": [{"id": "a", "runtimeInSeconds": 1.5}, {"id": "b", "runtimeInSeconds": 2},
                {"id": "c", "runtimeInSeconds": 0}],
      "machines": [{"nodeName": "m1", "cpu": {"coreCount": 4}}, {"nodeName": "m2"}]}}})");
  CHECK(graph.name == "w");
  CHECK(graph.comm == CommKind::kBytes);
  CHECK(graph.has_unit);
  CHECK(graph.suggested_devices == 2);
  REQUIRE(graph.graph.task_count() == 3);
  CHECK(time_of(graph, 0) == 1'500'000'000);
  const auto edges = graph.graph.out_edges(TaskId(size_t{0}));
  REQUIRE(edges.size() == 2);
  CHECK(graph.graph.edge_bytes(edges[0]) == 1000);
  CHECK(graph.graph.edge_bytes(edges[1]) == 0);
}

TEST_CASE("WfFormat: errors name the fault") {
  CHECK(error(R"({"name": "w", "schemaVersion": "1.4", "workflow": {}})")
            .starts_with(": schemaVersion is '1.4', expected 1.5"));
  CHECK(error("{\"schemaVersion\": \"1.5\",\n\"workflow\": {\"specification\": {\"tasks\": [\n"
              "{\"id\": \"a\", \"parents\": [\"ghost\"]}]}}}") ==
        ":3: task 'a' has no run time in workflow.execution.tasks");
  CHECK(error("{\"schemaVersion\": \"1.5\",\n\"workflow\": {\"execution\": {\"tasks\": [\n"
              "{\"id\": \"a\", \"runtimeInSeconds\": -1}]}}}")
            .starts_with(":3: runtimeInSeconds of 'a' is -1"));
  CHECK(error("{\"schemaVersion\": \"1.5\",\n\"workflow\": ]").starts_with(":2: malformed JSON"));
  CHECK(error("{\"workflow\": " + std::string(5000, '[')).find("nested over 64") !=
        std::string::npos);
}

TEST_CASE("DAX: reads jobs, files and dependencies") {
  const TaskGraph graph = read(R"(<?xml version="1.0"?>
<!-- generated -->
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="m">
  <job id="ID0" name="mProject" runtime="13.59">
    <uses file="raw.fits" link="input" size="42"/>
    <uses file="p.fits" link="output" size="4000"/>
  </job>
  <job id="ID1" name="mDiff" runtime="10">
    <uses file="p.fits" link="input" size="4000"/>
  </job>
  <child ref="ID1"><parent ref="ID0"/></child>
</adag>)");
  REQUIRE(graph.graph.task_count() == 2);
  CHECK(time_of(graph, 0) == 13'590'000'000);
  REQUIRE(graph.graph.edge_count() == 1);
  CHECK(graph.graph.edge_bytes(graph.graph.edges()[0]) == 4000);
}

TEST_CASE("DAX: errors name the line, and entity bombs are refused") {
  CHECK(error("<adag>\n<job id=\"a\"/>\n</adag>") == ":2: a <job> has no 'runtime'");
  CHECK(error("<adag>\n<job id=\"a\" runtime=\"-1\"/>\n</adag>")
            .starts_with(":2: the runtime of job 'a' is -1"));
  CHECK(error("<adag>\n<child ref=\"x\"/>\n</adag>") == ":2: there is no job 'x' before this line");
  CHECK(error("<adag>\n<job").starts_with(":2: malformed XML"));
  CHECK(error("<!DOCTYPE adag [<!ENTITY a \"aaaa\">]><adag>&a;</adag>")
            .starts_with(":1: a document type declaration"));
}

TEST_CASE("dfsim JSON: reads names or positions, null costs and devices") {
  const TaskGraph graph = read(R"({"format": "dfsim-taskgraph", "version": 1, "name": "g",
    "devices": ["cpu", {"name": "gpu", "memory_bytes": 100}],
    "tasks": [{"name": "a", "cost": [14, null], "memory_bytes": 7}, [1.5, 2]],
    "edges": [{"from": "a", "to": 1, "delay": 18}]})");
  REQUIRE(graph.graph.task_count() == 2);
  CHECK(graph.columns() == 2);
  CHECK(graph.devices[1].memory_bytes == 100);
  CHECK(time_of(graph, 0) == 14 * kNsPerFileUnit);
  CHECK(time_of(graph, 0, 1) == -1);
  CHECK(time_of(graph, 1) == 1'500'000);
  CHECK(graph.graph.resident_bytes(TaskId(size_t{0})) == 7);
  CHECK(graph.graph.edge_bytes(graph.graph.edges()[0]) == 18 * kNsPerFileUnit);
  CHECK(graph.graph.name(TaskId(size_t{1})) == "t1");
}

TEST_CASE("dfsim JSON: reads units, bytes, and edges before tasks") {
  const TaskGraph graph = read(R"({"edges": [[0, 1, 2048]], "tasks": [3, 4], "unit": "us",
    "communication": "bytes", "bandwidth_bytes_per_s": 1e9, "latency": 2, "version": 1,
    "format": "dfsim-taskgraph"})");
  CHECK(graph.has_unit);
  CHECK(time_of(graph, 1) == 4000);
  CHECK(graph.latency_ns == 2000);
  CHECK(graph.bytes_per_s == 1e9);
  CHECK(graph.comm == CommKind::kBytes);
  CHECK(graph.graph.edge_bytes(graph.graph.edges()[0]) == 2048);
}

TEST_CASE("dfsim JSON: errors of malformed input name the line") {
  const std::string head = "{\"format\": \"dfsim-taskgraph\", \"version\": 1,\n";
  CHECK(error(head + "\"tasks\": [[1, -2]]}") ==
        ":2: the cost of task 0 is -2, expected 0 or more (null where it cannot run)");
  CHECK(error(head + "\"tasks\": [[1, 2], [3]]}") == ":2: task 1 has 1 costs, expected 2");
  CHECK(error(head + "\"tasks\": [[null]]}") ==
        ": task 0 can run on no device: all its costs are null");
  CHECK(error(head + "\"tasks\": [1],\n\"edges\": [[0, 5, 1]]}") ==
        ":3: edge 0 joins task 0 to 5, but there are 1 tasks");
  CHECK(error(head + "\"tasks\": [1], \"edges\": [{\"from\": 0}]}") == ":2: edge 0 has no 'to'");
  CHECK(error(head + "\"tasks\": [1], \"edges\": [{\"from\": \"x\", \"to\": 0}]}")
            .starts_with(":2: an edge names task 'x'"));
  CHECK(error(head + "\"taks\": [1]}").find("did you mean 'tasks'") != std::string::npos);
  CHECK(error(head + "\"tasks\": [1e400]}") == ":2: a number is out of range");
  CHECK(error(head + "\"tasks\": [1e300]}").starts_with(": the cost of task 0 is 1e+300"));
  CHECK(error(head + "\"tasks\": [NaN]}").starts_with(":2: malformed JSON at"));
  CHECK(error(head + "\"devices\": [\"a\"], \"tasks\": [[1, 2]]}") ==
        ": 1 devices, but 2 costs per task");
  CHECK(error(head + "\"tasks\": [1, 2], \"edges\": [[0,1,1],[1,0,1]]}").find("cycle") !=
        std::string::npos);
  CHECK(error(head + "\"tasks\": [2e12, 2e12, 2e12]}").find("add up to") != std::string::npos);
  CHECK(error("{\"format\": \"dfsim-taskgraph\"}") == ": 'version' is 0, expected 1");
}

TEST_CASE("Task graphs: files in another format are refused") {
  CHECK(error("\x08\x07\x12\x04onnx").find("is not a task graph") != std::string::npos);
  CHECK(error("").find("is not a task graph") != std::string::npos);
  CHECK(error("{\"hello\": 1}").find("is not a task graph") != std::string::npos);
  CHECK(error("hello").find("is not a task graph") != std::string::npos);
  CHECK(read_task_graph("/nonexistent/x").status().code() == StatusCode::kNotFound);
  CHECK(read_task_graph("/").status().code() == StatusCode::kInvalidInput);
}

TEST_CASE("TripletRun: reads demands, weights in KB, and data without a weight") {
  const TaskGraph graph = read(R"({"nodes": [{"id": "7", "comDmd": "10", "dataDmd": "3"},
    {"id": 8, "comDmd": 20.5, "dataDmd": 6}, {"id": "9", "comDmd": "5", "dataDmd": "4.5"}],
    "edges": [{"src": "7", "dst": "9", "weight": "2"}, {"src": 8, "dst": 9}, {"src": 7, "dst": 8,
    "weight": "-1"}]})");
  CHECK(graph.format == "tripletrun");
  REQUIRE(graph.graph.task_count() == 3);
  CHECK(graph.graph.name(TaskId(0)) == "7");
  REQUIRE(graph.demands.size() == graph.cost_rows());
  const TaskDemand& demand = graph.demands[graph.graph.cost_row(TaskId(1))];
  CHECK(demand.compute == 20.5);
  CHECK(demand.data_bytes == 6 * 1024);
  CHECK(time_of(graph, 0) == 10);
  std::map<std::pair<size_t, size_t>, Bytes> bytes;
  for (const Edge& edge : graph.graph.edges()) {
    bytes[{edge.from.index(), edge.to.index()}] = graph.graph.edge_bytes(edge);
  }
  CHECK(bytes[{0, 2}] == 2 * 1024);
  CHECK(bytes[{1, 2}] == 3 * 1024);  // 6 of the 9 that its producers have, and it takes 4.5
  CHECK(bytes[{0, 1}] == 3 * 1024);  // all: the reader takes 6
}

TEST_CASE("TripletRun: damaged graphs are refused") {
  CHECK(
      error(R"({"nodes": [{"id": "1", "comDmd": "x"}], "edges": []})").find("expected a number") !=
      std::string::npos);
  CHECK(error(R"({"nodes": [{"id": "1", "comDmd": "-1"}], "edges": []})").find("0 or more") !=
        std::string::npos);
  CHECK(error(R"({"nodes": [5, {"comDmd": 1}]})").find("is not an object") != std::string::npos);
  CHECK(
      error(R"({"nodes": [{"id": 1, "comDmd": 1}, {"id": 1, "comDmd": 1}]})").find("two nodes 1") !=
      std::string::npos);
  CHECK(error(R"({"nodes": [{"id": 1, "comDmd": 1}], "edges": [{"src": 1, "dst": 2}]})")
            .find("there is no node 2") != std::string::npos);
  CHECK(error(R"({"nodes": [{"id": 1, "comDmd": 1}], "edges": [{"src": 1, "dst": 1}]})") != "");
  CHECK(error(R"({"nodes": [], "edges": [], "nodes/*/id": 1, "edges/*/src": 1})") != "");
  CHECK(error(R"({"nodes": {"*": {"id": 1}}, "edges": {"*": {"src": 1}}})") != "");
}

TEST_CASE("TripletRun: clusters have links between devices or their computers") {
  const auto cluster = parse_triplet_cluster(
      R"({"devices": [{"id": "3", "compute": "2", "bw": "4", "RAM": "8", "loc": "0"},
      {"id": 5, "compute": 3, "bw": 4, "loc": 0}, {"id": 6, "compute": 3, "bw": 4, "loc": 1}],
      "links": [{"src": 5, "dst": 3, "bw": "16"},
      {"src": "1", "dst": "0", "bw": 2, "BetweenNode": "true"}]})",
      "cluster.json");
  INFO(cluster.status().message());
  REQUIRE(cluster.ok());
  CHECK(cluster->name == "cluster");
  CHECK(cluster->devices[0].memory_bytes == 8 * 1024);
  CHECK(cluster->bytes_per_s(0, 1) == 16 * 1024);
  CHECK(cluster->bytes_per_s(1, 0) == 16 * 1024);
  CHECK(cluster->bytes_per_s(0, 2) == 2 * 1024);
  const auto refused = [](std::string_view text) {
    return parse_triplet_cluster(text, "cluster.json").status().message();
  };
  CHECK(refused(R"({"devices": [], "links": []})").find("found no devices") != std::string::npos);
  CHECK(refused(R"({"devices": [{"id": 1, "compute": 0, "bw": 1}]})").find("lacks") !=
        std::string::npos);
  CHECK(refused(R"({"devices": [{"id": 1, "compute": 1, "bw": 1}], "links": [7]})") != "");
  CHECK(refused(R"({"devices": [{"id": 1, "compute": 1, "bw": 1}],
                    "links": [{"src": 1, "dst": 2, "bw": 1}]})")
            .find("not both there") != std::string::npos);
  // Found by fuzzing: keys that read like the path of an element, and objects in place of lists.
  for (const char* text :
       {R"({"links/": 1})", R"({"links/*/bw": 1})", R"({"devices/*/id": 1})",
        R"({"links": {"a": 1}})", R"({"devices": {"*": {"id": 1}}})", R"({"": {"links": [1]}})"}) {
    CAPTURE(text);
    CHECK(refused(text).find("found no devices") != std::string::npos);
  }
}
