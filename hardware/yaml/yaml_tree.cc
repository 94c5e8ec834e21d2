// Builds the tree from yaml-cpp's events and stops by an exception of its own at the first event
// outside the subset (anchors, aliases, tags, several documents). The exception never leaves
// this file.
#include "hardware/yaml/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <exception>
#include <sstream>
#include <unordered_set>

#include "base/text.h"
#include "base/units.h"
#include "hardware/yaml/yaml_text.h"

namespace dfsim::inline hardware {
namespace {

YamlPlace place_of(const YAML::Mark& mark) {
  return mark.is_null() ? YamlPlace{} : YamlPlace{mark.line + 1, mark.column + 1};
}

YamlNode make_node(YamlNode::Kind kind, const YAML::Mark& mark) {
  YamlNode node;
  node.kind = kind;
  node.place = place_of(mark);
  return node;
}

// Ends yaml-cpp's recursion from inside an event; caught in parse_yaml.
struct StopParsing {};

// Builds the tree from yaml-cpp's events and stops at the first thing outside the subset.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& file) : file_(file) {}

  const Status& status() const { return status_; }
  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      stop(place_of(mark), "found a second document, expected one; remove the '---' line");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_extras(mark, "", anchor);
    add(make_node(YamlNode::Kind::kNull, mark), false);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    stop(place_of(mark), "found an alias (*name), expected a value; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_extras(mark, tag, anchor);
    // yaml-cpp tags quoted and block scalars "!", plain ones "?".
    YamlNode node = make_node(YamlNode::Kind::kScalar, mark);
    node.quoted = tag == "!";
    node.text = value;
    add(std::move(node), false);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_extras(mark, tag, anchor);
    add(make_node(YamlNode::Kind::kList, mark), true);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_extras(mark, tag, anchor);
    add(make_node(YamlNode::Kind::kMap, mark), true);
  }
  void OnMapEnd() override { close(); }

 private:
  // A map or list whose end has not come yet. Frames own their node until they close, so that no
  // pointer into a growing vector is held.
  struct Frame {
    YamlNode node;
    std::unordered_set<std::string> seen;
    bool key_read = false;
  };

  [[noreturn]] void stop(YamlPlace place, std::string_view message) {
    status_ = yaml_error(file_, place, message);
    throw StopParsing();
  }
  void refuse_extras(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) {
      stop(place_of(mark), "found an anchor (&name), expected a plain value; remove it");
    }
    if (!tag.empty() && tag != "?" && tag != "!") {
      stop(place_of(mark),
           fmt::format("found the tag '{}', expected a plain value; remove it", printable(tag)));
    }
  }
  void add(YamlNode node, bool opens) {
    if (!frames_.empty() && frames_.back().node.kind == YamlNode::Kind::kMap &&
        !frames_.back().key_read) {
      add_key(node);
      return;
    }
    if (opens) {
      if (frames_.size() >= static_cast<size_t>(kMaxYamlDepth)) {
        stop(node.place, fmt::format("found more than {} nested levels, expected at most that; "
                                     "remove the nesting",
                                     kMaxYamlDepth));
      }
      frames_.push_back(Frame{.node = std::move(node), .seen = {}, .key_read = false});
    } else {
      attach(std::move(node));
    }
  }
  void add_key(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kScalar) {
      stop(node.place,
           fmt::format("found {} as a key, expected a name; write 'name: value'", describe(node)));
    }
    Frame& frame = frames_.back();
    if (!frame.seen.insert(node.text).second) {
      stop(node.place, fmt::format("found the key '{}' a second time, expected each key once; "
                                   "remove one",
                                   printable(node.text)));
    }
    frame.node.keys.push_back({node.text, node.place});
    frame.key_read = true;
  }
  void attach(YamlNode node) {
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    frames_.back().node.items.push_back(std::move(node));
    frames_.back().key_read = false;
  }
  void close() {
    YamlNode node = std::move(frames_.back().node);
    frames_.pop_back();
    attach(std::move(node));
  }

  const std::string& file_;
  Status status_;
  YamlNode root_;
  std::vector<Frame> frames_;
  int documents_ = 0;
};

}  // namespace

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return fmt::format("'{}'{}", printable(node.text), node.quoted ? " in quotes" : "");
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "nothing";
}

StatusOr<YamlNode> parse_yaml(std::string_view text, const std::string& file,
                              std::string_view page) {
  DFSIM_RETURN_IF_ERROR(check_yaml_text(text, file, page));
  TreeBuilder builder(file);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const StopParsing&) {
    return builder.status();
  } catch (const YAML::Exception& error) {
    return yaml_error(file, place_of(error.mark),
                      fmt::format("is not valid YAML: {}; check indentation, colons and quotes",
                                  printable(error.msg)));
  } catch (const std::exception& error) {
    return yaml_error(file, YamlPlace{},
                      fmt::format("is not valid YAML: {}; check indentation, colons and quotes",
                                  printable(error.what())));
  }
  return builder.take();
}

}  // namespace dfsim::inline hardware
