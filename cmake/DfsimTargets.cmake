# dfsim_library(NAME DEPS public dependencies... PRIVATE hidden ones...)
# dfsim_test(NAME DEPS libraries under test... EXCLUDE subfolders...)
# Both take every *.cc of the current folder and its subfolders, except subfolders that have a
# CMakeLists.txt of their own.
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

# dfsim_sources(OUT EXCLUDE...): the *.cc that belong to the target of the current folder.
function(dfsim_sources out)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  file(GLOB_RECURSE nested RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CMakeLists.txt)
  foreach(file ${nested})
    get_filename_component(folder ${file} DIRECTORY)
    if(folder)
      list(APPEND ARGN ${folder})
    endif()
  endforeach()
  foreach(folder ${ARGN})
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

function(dfsim_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE" ${ARGN})
  dfsim_sources(sources)
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC dfsim_options ${ARG_DEPS} PRIVATE ${ARG_PRIVATE})
endfunction()

function(dfsim_test name)
  cmake_parse_arguments(ARG "" "" "DEPS;EXCLUDE" ${ARGN})
  dfsim_sources(sources ${ARG_EXCLUDE})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE dfsim_options dfsim_test_main ${ARG_DEPS})
  target_compile_definitions(${name} PRIVATE DFSIM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
endfunction()
