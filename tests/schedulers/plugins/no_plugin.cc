// A shared library that has nothing to do with dfsim.
extern "C" int answer() { return 42; }
