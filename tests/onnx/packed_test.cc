// Models in archives, tensors in files of their own, and files of other kinds.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/io/file.h"
#include "base/io/text_file.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

ModelMaker packed_reshape_model() {
  ModelMaker model;
  model.input("x", {2, 6});
  model.ints("shape", {3, 4});
  model.node("Reshape", {"x", "shape"}, {"y"});
  model.output("y");
  return model;
}

std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i));
  }
  return text;
}

// An archive of stored files; checksums are not looked at.
std::string zip_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string archive;
  std::string directory;
  for (const auto& [name, content] : files) {
    const std::string sizes = little_endian(content.size(), 4) + little_endian(content.size(), 4) +
                              little_endian(name.size(), 2) + little_endian(0, 2);
    const std::string common = little_endian(20, 2) + little_endian(0, 2) + little_endian(0, 2) +
                               little_endian(0, 4) + little_endian(0, 4) + sizes;
    directory += "PK\x01\x02" + little_endian(20, 2) + common + little_endian(0, 2) +
                 little_endian(0, 2) + little_endian(0, 2) + little_endian(0, 4) +
                 little_endian(archive.size(), 4) + name;
    archive += "PK\x03\x04" + common + name + content;
  }
  const std::string end = "PK\x05\x06" + little_endian(0, 4) + little_endian(files.size(), 2) +
                          little_endian(files.size(), 2) + little_endian(directory.size(), 4) +
                          little_endian(archive.size(), 4) + little_endian(0, 2);
  return archive + directory + end;
}

std::string message_for(const std::string& content) {
  const auto imported = import_onnx_bytes(content, {});
  REQUIRE_FALSE(imported.ok());
  return imported.status().message();
}

TEST_CASE("Packed models: gzip and zip give the same graph") {
  ModelMaker model = packed_reshape_model();
  const fs::path path = fs::temp_directory_path() / "dfsim_packed_model.onnx.gz";
  auto writer = TextWriter::open(path.string());
  REQUIRE(writer.ok());
  REQUIRE(writer->append(model.bytes()).ok());
  REQUIRE(writer->close().ok());
  const auto from_gzip = import_onnx(path.string(), {});
  fs::remove(path);
  INFO(from_gzip.status().message());
  REQUIRE(from_gzip.ok());
  CHECK(shape_of(from_gzip->graph, "y") == "3x4");
  const auto from_zip =
      import_onnx_bytes(zip_of({{"README", "text"}, {"folder/model.onnx", model.bytes()}}), {});
  INFO(from_zip.status().message());
  REQUIRE(from_zip.ok());
  CHECK(shape_of(from_zip->graph, "y") == "3x4");
}

TEST_CASE("Packed models: archives without one model are refused with what to do") {
  const std::string bytes = packed_reshape_model().bytes();
  CHECK_THAT(message_for(zip_of({{"a.onnx", bytes}, {"b.onnx", bytes}})),
             Contains("2 ONNX models"));
  CHECK_THAT(message_for(zip_of({{"notes.txt", ""}})),
             Contains("without a file that ends in .onnx"));
  CHECK_THAT(message_for(zip_of({{"m/archive_format", "pt2"}})), Contains("torch.export.load"));
  CHECK_THAT(message_for(zip_of({{"m/data.pkl", ""}})), Contains("PyTorch (.pt or .pth)"));
  CHECK_THAT(message_for("\x1f\x8b\x08"), Contains("gzip stream is damaged"));
  const std::string whole = zip_of({{"a.onnx", bytes}});
  for (size_t length = 4; length < whole.size(); length += 7) {
    CHECK_FALSE(import_onnx_bytes(whole.substr(0, length), {}).ok());
  }
}

TEST_CASE("Other formats: are named, with the way to convert them") {
  CHECK_THAT(message_for(std::string("\x1c\0\0\0TFL3", 8)), Contains("tf2onnx.convert"));
  CHECK_THAT(message_for(std::string("\x1c\0\0\0ORTM", 8)), Contains("(.ort)"));
}

TEST_CASE("External data: values of small tensors are read, missing files are not needed") {
  const fs::path folder = fs::temp_directory_path() / "dfsim_external_shapes";
  fs::create_directories(folder);
  ModelMaker model = packed_reshape_model();
  onnx::TensorProto* shape = model.graph().mutable_initializer(0);
  shape->clear_int64_data();
  shape->set_data_location(onnx::TensorProto::EXTERNAL);
  const auto entry = [&](const char* key, const std::string& value) {
    auto* added = shape->add_external_data();
    added->set_key(key);
    added->set_value(value);
  };
  entry("location", "shapes.bin");
  entry("offset", "5");
  entry("length", "16");
  const auto imported = [&] {
    std::ofstream(folder / "model.onnx", std::ios::binary) << model.bytes();
    return import_onnx((folder / "model.onnx").string(), {});
  };
  const auto without = imported();
  REQUIRE(without.ok());
  CHECK(without->report.unresolved.size() == 1);
  const uint64_t digest_without = external_values_digest((folder / "model.onnx").string());
  std::ofstream(folder / "shapes.bin", std::ios::binary)
      << "12345" << little_endian(3, 8) << little_endian(4, 8);
  const auto with_file = imported();
  REQUIRE(with_file.ok());
  CHECK(with_file->report.unresolved.empty());
  CHECK(shape_of(with_file->graph, "y") == "3x4");
  CHECK(external_values_digest((folder / "model.onnx").string()) != digest_without);
  // A place outside the folder is not looked at.
  shape->mutable_external_data(0)->set_value("../dfsim_external_shapes/shapes.bin");
  const auto outside = imported();
  REQUIRE(outside.ok());
  CHECK(outside->report.unresolved.size() == 1);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace dfsim
