// What the leak sanitizer keeps to itself: leaks of libraries, on input that they refuse.
//
// The parser of libbabeltrace2's plugin for CTF forgets the scopes that are open when it meets a
// syntax error, 16 bytes each (2.0.4; `push_scope` without `pop_scope`).

// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's own name for it
extern "C" const char* __lsan_default_suppressions() { return "leak:babeltrace-plugin-ctf.so\n"; }
