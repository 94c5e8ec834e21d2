# dfsim_library(NAME folder-relative sources by glob; DEPS public dependencies; PRIVATE hidden ones)
# dfsim_test(NAME sources by glob in the current folder; DEPS libraries under test)
# Every target gets the same warnings, sanitizers and include root.

add_library(dfsim_options INTERFACE)
target_include_directories(dfsim_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_options(dfsim_options INTERFACE -Wall -Wextra -Werror)
if(DFSIM_SANITIZE)
  target_compile_options(dfsim_options INTERFACE -fsanitize=${DFSIM_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(dfsim_options INTERFACE -fsanitize=${DFSIM_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Its manual: with sanitizers these warnings are often false (here inside std::regex).
    target_compile_options(dfsim_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(DFSIM_BUILD_FUZZERS)
  # Coverage for libFuzzer in everything; the fuzz programs themselves link its main.
  target_compile_options(dfsim_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(dfsim_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC dfsim_options ${ARG_DEPS} PRIVATE ${ARG_PRIVATE})
endfunction()

function(dfsim_test name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE dfsim_options dfsim_test_main ${ARG_DEPS})
  target_compile_definitions(${name} PRIVATE DFSIM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
endfunction()
