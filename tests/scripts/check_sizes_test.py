#!/usr/bin/env python3
"""Tests scripts/check_sizes.py: what it takes for a function, and that it finds what is too large."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))
import check_sizes  # noqa: E402

SOURCE = """\
namespace dfsim {
namespace {
constexpr int kTable[] = {
    1, 2,
};
struct Plain {
  int x = 0;
  int twice() const { return 2 * x; }
};
enum class Kind : unsigned { kA };
std::string text() { return "} not an end {"; }  // neither is this }
}  // namespace

class Derived final : public Base {
 public:
  explicit Derived(int x)
      : Base(x), value_{x} {
    grow();
  }
  ~Derived() override = default;
  bool operator==(const Derived& other) const { return value_ == other.value_; }

 private:
  template <typename T>
  void
  grow(T by = {}) {
    if (by > 0) {
      run([&] { ++value_; });
    }
  }
  int value_;
};

Status Derived::load(const std::string& path,
                     const Options& options) {
  return R"({ raw )" + path;
}

}  // namespace dfsim
"""


def functions(text):
    return [(name, last - first + 1) for first, last, name in check_sizes.functions_of(text)]


def found(files, exceptions=()):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_sizes.check_tree(pathlib.Path(folder), exceptions)[1]


def function_of(lines):
    return "void run() {\n" + "  step();\n" * (lines - 2) + "}\n"


class CheckSizes(unittest.TestCase):
    def test_functions_are_told_from_types_tables_and_literals(self):
        self.assertEqual([("twice", 1), ("text", 1), ("Derived", 4), ("operator==", 1), ("grow", 7),
                          ("Derived::load", 4)], functions(SOURCE))

    def test_python_functions_count_with_their_inner_ones(self):
        text = "def outer():\n    def inner():\n        pass\n    return inner\n"
        self.assertEqual([(1, 4, "outer"), (2, 3, "inner")],
                         sorted(check_sizes.python_functions_of(text)))

    def test_what_is_just_small_enough_passes(self):
        files = {f"sim/f{i}.cc": function_of(80) for i in range(24)}
        self.assertEqual([], found(files | {"sim/long.cc": "\n" * 450}))

    def test_a_long_function_a_long_file_and_a_full_folder_are_found(self):
        lines = found({"sim/a.cc": "int x;\n" + function_of(81)})
        self.assertEqual(1, len(lines))
        self.assertTrue(lines[0].startswith("sim/a.cc:2: run() has 81 lines"), lines[0])
        self.assertIn("451 lines", found({"sim/a.h": "\n" * 451})[0])
        lines = found({f"sim/f{i}.cc": "" for i in range(26)} | {"sim/sub/g.cc": ""})
        self.assertEqual(1, len(lines))
        self.assertTrue(lines[0].startswith("sim/: 26 source files"), lines[0])

    def test_an_exception_passes_as_long_as_it_is_needed(self):
        files = {"sim/a.cc": function_of(81)}
        self.assertEqual([], found(files, {"sim/a.cc:run": "reason"}))
        self.assertEqual(1, len(found({"sim/a.cc": function_of(80)}, {"sim/a.cc:run": "reason"})))


if __name__ == "__main__":
    unittest.main()
