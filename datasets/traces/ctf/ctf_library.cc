// A graph of libbabeltrace2 components: the reader of CTF folders, a muxer that orders events of
// all streams by time, and a sink that hands each event to the caller. The sink copies fields
// into plain values, because the library recycles messages. Releaser types hold the library's
// reference counts, since every early return must release what was built so far.
#include "datasets/traces/ctf/ctf_library.h"

#include <babeltrace2/babeltrace.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/io/data_dir.h"

namespace dfsim::inline datasets {
namespace {

template <auto kRelease>
struct Releaser {
  template <typename T>
  void operator()(const T* object) const {
    kRelease(object);
  }
};
using Graph = std::unique_ptr<bt_graph, Releaser<bt_graph_put_ref>>;
using Plugin = std::unique_ptr<const bt_plugin, Releaser<bt_plugin_put_ref>>;
using Value = std::unique_ptr<bt_value, Releaser<bt_value_put_ref>>;
using MessageIterator = bt_message_iterator;

constexpr uint64_t kManyEvents = uint64_t{1} << 40;

// A shape, and its fields' names as the library holds them: an event of the same class has the very
// same ones, which are cheaper to compare than their text.
struct NamedShape {
  CtfShape shape;
  std::vector<const char*> names;
};

// Handed through the library to the sink's functions.
struct Sink {
  MessageIterator* messages = nullptr;
  const std::function<void(const CtfEvent&)>* on_event = nullptr;
  CtfEvent event;  // its fields have no names: those are in its shape
  std::vector<const char*> names;
  // By class of events: the layout of its latest one. Optional fields make several layouts.
  std::unordered_map<const bt_event_class*, const NamedShape*> shapes;
  std::deque<NamedShape> all_shapes;
  CtfSummary summary;
  int64_t events = 0;
};

// False: a field of a type that events leave out.
bool add_field(const bt_field* field, CtfEvent* event) {
  CtfField result;
  const bt_field_class_type type = bt_field_get_class_type(field);
  if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
    result.integer = static_cast<int64_t>(bt_field_integer_unsigned_get_value(field));
  } else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) {
    result.integer = bt_field_integer_signed_get_value(field);
  } else if (type == BT_FIELD_CLASS_TYPE_BOOL) {
    result.integer = bt_field_bool_get_value(field) != 0 ? 1 : 0;
  } else if (type == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL) {
    result.kind = CtfField::Kind::kReal;
    result.real = bt_field_real_double_precision_get_value(field);
  } else if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL) {
    result.kind = CtfField::Kind::kReal;
    result.real = static_cast<double>(bt_field_real_single_precision_get_value(field));
  } else if (type == BT_FIELD_CLASS_TYPE_STRING) {
    result.kind = CtfField::Kind::kText;
    result.text = {bt_field_string_get_value(field),
                   static_cast<size_t>(bt_field_string_get_length(field))};
  } else {
    return false;
  }
  event->fields.push_back(result);
  return true;
}

void add_fields(const bt_field* structure, Sink* sink) {
  if (structure == nullptr || bt_field_get_class_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE) {
    return;
  }
  const bt_field_class* const members = bt_field_borrow_class_const(structure);
  const uint64_t count = bt_field_class_structure_get_member_count(members);
  for (uint64_t i = 0; i < count; ++i) {
    if (!add_field(bt_field_structure_borrow_member_field_by_index_const(structure, i),
                   &sink->event)) {
      continue;
    }
    const char* const name = bt_field_class_structure_member_get_name(
        bt_field_class_structure_borrow_member_by_index_const(members, i));
    sink->names.push_back(name == nullptr ? "" : name);
  }
}

// The shape that describes the event's fields, made when it is new.
const CtfShape* shape_of(const bt_event_class* event_class, size_t payload, Sink* sink) {
  const NamedShape*& known = sink->shapes[event_class];
  if (known != nullptr && payload == known->shape.payload && sink->names == known->names) {
    return &known->shape;
  }
  NamedShape& made = sink->all_shapes.emplace_back();
  const char* const name = bt_event_class_get_name(event_class);
  made.shape.name = name == nullptr ? "" : name;
  made.shape.payload = payload;
  made.shape.fields.assign(sink->names.begin(), sink->names.end());
  made.names = sink->names;
  known = &made;
  return &made.shape;
}

int64_t offset_ns(const bt_clock_class* clock) {
  int64_t seconds = 0;
  uint64_t cycles = 0;
  bt_clock_class_get_offset(clock, &seconds, &cycles);
  const uint64_t frequency = std::max<uint64_t>(1, bt_clock_class_get_frequency(clock));
  constexpr int64_t kMostSeconds = int64_t{1} << 33;  // in nanoseconds just within 64 bits
  if (seconds < -kMostSeconds || seconds > kMostSeconds) {
    return 0;
  }
  const double rest_ns = static_cast<double>(cycles) / static_cast<double>(frequency) * 1e9;
  return seconds * 1000000000 + static_cast<int64_t>(std::min(rest_ns, 9e17));
}

void take_event(const bt_message* message, Sink* sink) {
  const bt_event* const event = bt_message_event_borrow_event_const(message);
  const bt_event_class* const event_class = bt_event_borrow_class_const(event);
  CtfEvent& result = sink->event;
  result.fields.clear();
  sink->names.clear();
  result.timed = false;
  const bt_stream_class* const stream_class = bt_event_class_borrow_stream_class_const(event_class);
  const bt_clock_class* const clock =
      bt_stream_class_borrow_default_clock_class_const(stream_class);
  if (clock != nullptr) {
    const bt_clock_snapshot* const snapshot =
        bt_message_event_borrow_default_clock_snapshot_const(message);
    result.timed = bt_clock_snapshot_get_ns_from_origin(snapshot, &result.time_ns) ==
                   BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK;
    result.clock_offset_ns = offset_ns(clock);
    sink->summary.wall_clock = bt_clock_class_origin_is_unix_epoch(clock) != 0;
  }
  add_fields(bt_event_borrow_payload_field_const(event), sink);
  const size_t payload = result.fields.size();
  add_fields(bt_event_borrow_specific_context_field_const(event), sink);
  add_fields(bt_event_borrow_common_context_field_const(event), sink);
  if (bt_stream_class_supports_packets(stream_class) != 0) {
    add_fields(bt_packet_borrow_context_field_const(bt_event_borrow_packet_const(event)), sink);
  }
  result.shape = shape_of(event_class, payload, sink);
  ++sink->events;
  (*sink->on_event)(result);
}

void take_message(const bt_message* message, Sink* sink) {
  switch (bt_message_get_type(message)) {
    case BT_MESSAGE_TYPE_EVENT:
      take_event(message, sink);
      break;
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS: {
      uint64_t count = 0;
      const bool known = bt_message_discarded_events_get_count(message, &count) ==
                         BT_PROPERTY_AVAILABILITY_AVAILABLE;
      sink->summary.discarded += known ? static_cast<int64_t>(std::min(count, kManyEvents)) : 1;
      break;
    }
    default:
      break;
  }
}

bt_graph_simple_sink_component_initialize_func_status start(MessageIterator* messages, void* data) {
  static_cast<Sink*>(data)->messages = messages;
  return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

bt_graph_simple_sink_component_consume_func_status consume(MessageIterator* messages, void* data) {
  bt_message_array_const batch = nullptr;
  uint64_t count = 0;
  switch (bt_message_iterator_next(messages, &batch, &count)) {
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
      break;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
      return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
      return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_MEMORY_ERROR:
      return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_MEMORY_ERROR;
    default:
      return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
  }
  for (uint64_t i = 0; i < count; ++i) {
    take_message(batch[i], static_cast<Sink*>(data));
    bt_message_put_ref(batch[i]);
  }
  return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

// Describes the error, innermost cause first, on one line.
std::string take_error() {
  const bt_error* const error = bt_current_thread_take_error();
  if (error == nullptr) {
    return "the library gives no reason";
  }
  std::string text = "unknown";
  if (bt_error_get_cause_count(error) > 0) {
    text = bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0));
    std::ranges::replace(text, '\n', ' ');
  }
  bt_error_release(error);
  return text;
}

// source.ctf.fs -> filter.utils.muxer -> our sink.
class Pipeline {
 public:
  explicit Pipeline(Sink* sink) : sink_(sink), graph_(bt_graph_create(0)) {}

  bool build(const std::string& folder) {
    const Plugin ctf = find("ctf");
    const Plugin utils = find("utils");
    if (graph_ == nullptr || ctf == nullptr || utils == nullptr) {
      return false;
    }
    const Value params(bt_value_map_create());
    bt_value* inputs = nullptr;
    if (params == nullptr ||
        bt_value_map_insert_empty_array_entry(params.get(), "inputs", &inputs) !=
            BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK ||
        bt_value_array_append_string_element(inputs, folder.c_str()) !=
            BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK) {
      return false;
    }
    const bt_component_source* source = nullptr;
    const bt_component_filter* muxer = nullptr;
    const bt_component_sink* sink = nullptr;
    return add_source(ctf.get(), params.get(), &source) && add_muxer(utils.get(), &muxer) &&
           bt_graph_add_simple_sink_component(graph_.get(), "dfsim", start, consume, nullptr, sink_,
                                              &sink) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
           connect(source, muxer, sink);
  }

  bool run() { return bt_graph_run(graph_.get()) == BT_GRAPH_RUN_STATUS_OK; }

 private:
  // A plugin that came with dfsim goes first: a tarball and a wheel bring their own library, which
  // the system's plugins, if there are any, may not fit.
  static Plugin find(const char* name) {
    if (Plugin bundled = find_bundled(name); bundled != nullptr) {
      return bundled;
    }
    const bt_plugin* plugin = nullptr;
    const bool found = bt_plugin_find(name, BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE,
                                      &plugin) == BT_PLUGIN_FIND_STATUS_OK;
    return Plugin(found ? plugin : nullptr);
  }

  static Plugin find_bundled(const char* name) {
    const auto file = find_data_file(fmt::format("babeltrace2/babeltrace-plugin-{}.so", name));
    const bt_plugin_set* set = nullptr;
    if (!file.ok() || bt_plugin_find_all_from_file(file->c_str(), BT_FALSE, &set) !=
                          BT_PLUGIN_FIND_ALL_FROM_FILE_STATUS_OK) {
      return nullptr;
    }
    const bt_plugin* const plugin = bt_plugin_set_get_plugin_count(set) == 0
                                        ? nullptr
                                        : bt_plugin_set_borrow_plugin_by_index_const(set, 0);
    bt_plugin_get_ref(plugin);  // the set is released, the plugin stays
    bt_plugin_set_put_ref(set);
    return Plugin(plugin);
  }

  bool add_source(const bt_plugin* plugin, const bt_value* params,
                  const bt_component_source** component) {
    const bt_component_class_source* const kind =
        bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs");
    return kind != nullptr && bt_graph_add_source_component(graph_.get(), kind, "source", params,
                                                            BT_LOGGING_LEVEL_NONE, component) ==
                                  BT_GRAPH_ADD_COMPONENT_STATUS_OK;
  }

  bool add_muxer(const bt_plugin* plugin, const bt_component_filter** component) {
    const bt_component_class_filter* const kind =
        bt_plugin_borrow_filter_component_class_by_name_const(plugin, "muxer");
    return kind != nullptr && bt_graph_add_filter_component(graph_.get(), kind, "muxer", nullptr,
                                                            BT_LOGGING_LEVEL_NONE, component) ==
                                  BT_GRAPH_ADD_COMPONENT_STATUS_OK;
  }

  // The muxer grows a new input with each that is taken.
  bool connect(const bt_component_source* source, const bt_component_filter* muxer,
               const bt_component_sink* sink) {
    const uint64_t outputs = bt_component_source_get_output_port_count(source);
    for (uint64_t i = 0; i < outputs; ++i) {
      if (!connect(bt_component_source_borrow_output_port_by_index_const(source, i),
                   bt_component_filter_borrow_input_port_by_index_const(muxer, i))) {
        return false;
      }
    }
    return connect(bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
                   bt_component_sink_borrow_input_port_by_index_const(sink, 0));
  }

  bool connect(const bt_port_output* from, const bt_port_input* to) {
    return bt_graph_connect_ports(graph_.get(), from, to, nullptr) ==
           BT_GRAPH_CONNECT_PORTS_STATUS_OK;
  }

  Sink* sink_;
  Graph graph_;
};

}  // namespace

StatusOr<CtfSummary> read_with_library(const std::string& folder,
                                       const std::function<void(const CtfEvent&)>& on_event) {
  Sink sink;
  sink.on_event = &on_event;
  Pipeline pipeline(&sink);
  if (!pipeline.build(folder)) {
    return invalid_input(fmt::format("its metadata cannot be read: {}", take_error()));
  }
  if (!pipeline.run()) {
    sink.summary.damage = take_error();
    if (sink.events == 0) {
      return invalid_input(fmt::format("no event can be read: {}", sink.summary.damage));
    }
  }
  return sink.summary;
}

}  // namespace dfsim::inline datasets
