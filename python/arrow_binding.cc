// Tables as Arrow C streams (https://arrow.apache.org/docs/format/CStreamInterface.html): one
// record batch, columns of 64-bit integers, doubles, booleans and texts. The structs below are
// those of the specification, which asks users to copy them.
#include <nanobind/ndarray.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

#include "python/binding.h"

extern "C" {
// The names are the specification's.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace dfsim::python {
namespace {

constexpr int64_t kArrowNullable = 2;

// A column in Arrow's layout: its values, the offsets of texts, and which values there are.
struct ArrowColumn {
  std::string name;
  std::string format;
  std::vector<uint8_t> values;
  std::vector<int32_t> offsets;
  std::vector<uint8_t> valid;  // bits; empty = all
  int64_t nulls = 0;
};

struct ArrowTable {
  std::vector<ArrowColumn> columns;
  int64_t rows = 0;
};

void set_bit(std::vector<uint8_t>* bits, size_t i) {
  (*bits)[i / 8] = static_cast<uint8_t>((*bits)[i / 8] | 1U << (i % 8));
}

template <typename T>
void set_numbers(ArrowColumn* column, const nb::object& values, size_t rows) {
  const auto array =
      nb::cast<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(values);
  if (array.shape(0) != rows) {
    throw nb::value_error("columns of different lengths");
  }
  column->values.resize(rows * sizeof(T));
  if (rows > 0) {
    std::memcpy(column->values.data(), array.data(), rows * sizeof(T));
  }
}

// A value of a list, or nothing for None.
std::optional<nb::object> present(const nb::list& list, size_t row, ArrowColumn* column) {
  nb::object value = nb::borrow(list[row]);
  if (value.is_none()) {
    ++column->nulls;
    return std::nullopt;
  }
  set_bit(&column->valid, row);
  return value;
}

nb::list checked_list(const nb::object& values, size_t rows) {
  auto list = nb::cast<nb::list>(values);
  if (list.size() != rows) {
    throw nb::value_error("columns of different lengths");
  }
  return list;
}

void set_flags(ArrowColumn* column, const nb::object& values, size_t rows) {
  const nb::list list = checked_list(values, rows);
  column->values.assign(rows / 8 + 1, 0);
  column->valid.assign(rows / 8 + 1, 0);
  for (size_t i = 0; i < rows; ++i) {
    const auto value = present(list, i, column);
    if (value.has_value() && nb::cast<bool>(*value)) {
      set_bit(&column->values, i);
    }
  }
}

void set_texts(ArrowColumn* column, const nb::object& values, size_t rows) {
  const nb::list list = checked_list(values, rows);
  column->valid.assign(rows / 8 + 1, 0);
  column->offsets.push_back(0);
  for (size_t i = 0; i < rows; ++i) {
    if (const auto value = present(list, i, column); value.has_value()) {
      const auto text = nb::cast<std::string>(nb::steal<nb::str>(PyObject_Str(value->ptr())));
      column->values.insert(column->values.end(), text.begin(), text.end());
    }
    if (column->values.size() > std::numeric_limits<int32_t>::max()) {
      throw nb::value_error("a column of texts has more than 2 GiB");
    }
    column->offsets.push_back(static_cast<int32_t>(column->values.size()));
  }
}

// --- The structs of the specification. Each owns what its private_data points to. ---

struct OwnedSchema {
  std::shared_ptr<const ArrowTable> table;
  std::vector<ArrowSchema> columns;
  std::vector<ArrowSchema*> pointers;
};

void release_schema(ArrowSchema* schema) {
  delete static_cast<OwnedSchema*>(schema->private_data);
  schema->release = nullptr;
}

// The parent's struct has the child's memory; the child may be moved out of it before.
void release_child_schema(ArrowSchema* schema) {
  delete static_cast<std::shared_ptr<const ArrowTable>*>(schema->private_data);
  schema->release = nullptr;
}

void release_whole_schema(ArrowSchema* schema) {
  for (int64_t i = 0; i < schema->n_children; ++i) {
    if (schema->children[i]->release != nullptr) {
      schema->children[i]->release(schema->children[i]);
    }
  }
  release_schema(schema);
}

void make_schema(const std::shared_ptr<const ArrowTable>& table, ArrowSchema* out) {
  auto owned = std::make_unique<OwnedSchema>();
  owned->table = table;
  for (const ArrowColumn& column : table->columns) {
    owned->columns.push_back({column.format.c_str(), column.name.c_str(), nullptr, kArrowNullable,
                              0, nullptr, nullptr, release_child_schema,
                              new std::shared_ptr<const ArrowTable>(table)});
  }
  for (ArrowSchema& column : owned->columns) {
    owned->pointers.push_back(&column);
  }
  *out = {"+s",
          "",
          nullptr,
          0,
          static_cast<int64_t>(owned->pointers.size()),
          owned->pointers.data(),
          nullptr,
          release_whole_schema,
          nullptr};
  out->private_data = owned.release();
}

struct OwnedColumn {
  std::shared_ptr<const ArrowTable> table;
  std::vector<const void*> buffers;
};

void release_column(ArrowArray* array) {
  delete static_cast<OwnedColumn*>(array->private_data);
  array->release = nullptr;
}

struct OwnedBatch {
  std::vector<ArrowArray> columns;
  std::vector<ArrowArray*> pointers;
  std::vector<const void*> buffers = {nullptr};
};

void release_batch(ArrowArray* array) {
  for (int64_t i = 0; i < array->n_children; ++i) {
    if (array->children[i]->release != nullptr) {
      array->children[i]->release(array->children[i]);
    }
  }
  delete static_cast<OwnedBatch*>(array->private_data);
  array->release = nullptr;
}

ArrowArray make_column(const std::shared_ptr<const ArrowTable>& table, const ArrowColumn& column) {
  auto owned = std::make_unique<OwnedColumn>();
  owned->table = table;
  owned->buffers.push_back(column.valid.empty() ? nullptr : column.valid.data());
  if (!column.offsets.empty()) {
    owned->buffers.push_back(column.offsets.data());
  }
  owned->buffers.push_back(column.values.data());
  ArrowArray array = {table->rows,
                      column.nulls,
                      0,
                      static_cast<int64_t>(owned->buffers.size()),
                      0,
                      owned->buffers.data(),
                      nullptr,
                      nullptr,
                      release_column,
                      nullptr};
  array.private_data = owned.release();
  return array;
}

void make_batch(const std::shared_ptr<const ArrowTable>& table, ArrowArray* out) {
  auto owned = std::make_unique<OwnedBatch>();
  for (const ArrowColumn& column : table->columns) {
    owned->columns.push_back(make_column(table, column));
  }
  for (ArrowArray& column : owned->columns) {
    owned->pointers.push_back(&column);
  }
  *out = {table->rows,
          0,
          0,
          1,
          static_cast<int64_t>(owned->pointers.size()),
          owned->buffers.data(),
          owned->pointers.data(),
          nullptr,
          release_batch,
          nullptr};
  out->private_data = owned.release();
}

struct OwnedStream {
  std::shared_ptr<const ArrowTable> table;
  bool ended = false;
};

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  make_schema(static_cast<OwnedStream*>(stream->private_data)->table, out);
  return 0;
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto* owned = static_cast<OwnedStream*>(stream->private_data);
  if (owned->ended) {
    *out = {};
    return 0;
  }
  owned->ended = true;
  make_batch(owned->table, out);
  return 0;
}

const char* stream_error(ArrowArrayStream* /*stream*/) { return nullptr; }

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<OwnedStream*>(stream->private_data);
  stream->release = nullptr;
}

// A consumer takes the stream out of the capsule and clears its release.
void free_capsule(PyObject* capsule) {
  auto* stream =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
  if (stream->release != nullptr) {
    stream->release(stream);
  }
  delete stream;
}

nb::object arrow_stream(const std::vector<std::string>& names,
                        const std::vector<std::string>& formats, const nb::list& columns,
                        size_t rows) {
  if (names.size() != formats.size() || names.size() != columns.size()) {
    throw nb::value_error("as many names as formats and columns");
  }
  auto table = std::make_shared<ArrowTable>();
  table->rows = static_cast<int64_t>(rows);
  for (size_t c = 0; c < names.size(); ++c) {
    ArrowColumn column;
    column.name = names[c];
    column.format = formats[c];
    const nb::object values = columns[c];
    if (column.format == "l") {
      set_numbers<int64_t>(&column, values, rows);
    } else if (column.format == "g") {
      set_numbers<double>(&column, values, rows);
    } else if (column.format == "b") {
      set_flags(&column, values, rows);
    } else if (column.format == "u") {
      set_texts(&column, values, rows);
    } else {
      throw nb::value_error("a column's format is l, g, b or u");
    }
    table->columns.push_back(std::move(column));
  }
  auto* const stream = new ArrowArrayStream{stream_schema, stream_next, stream_error,
                                            release_stream, new OwnedStream{std::move(table)}};
  return nb::steal(PyCapsule_New(stream, "arrow_array_stream", free_capsule));
}

}  // namespace

void bind_arrow(nb::module_& module) {
  module.def(
      "arrow_stream", &arrow_stream, nb::arg("names"), nb::arg("formats"), nb::arg("columns"),
      nb::arg("rows"),
      nb::sig("def arrow_stream(names: collections.abc.Sequence[str], formats: "
              "collections.abc.Sequence[str], columns: list[typing.Any], rows: int) -> object"),
      "An Arrow C stream of columns: l and g are arrays, b and u are lists of bools or texts, "
      "or None.");
}

}  // namespace dfsim::python
