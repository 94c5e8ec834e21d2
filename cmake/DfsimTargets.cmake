# dfsim_library(NAME [FAST | PLAIN] DEPS public dependencies... PRIVATE hidden ones... HEADERS hidden ones that are
#   headers alone, not linked...)
# dfsim_test(NAME DEPS libraries under test... EXCLUDE subfolders...)
# Both take every *.cc of the current folder and its subfolders, except subfolders that have a
# CMakeLists.txt of their own.
# Every target gets the same warnings, sanitizers and include root.

# DFSIM_UNITY: sources of a target are compiled in groups, each as if it were one file, which takes
# about a third of the time, since the compiler reads headers once per group. Both ways must compile:
# names in anonymous namespaces are unique within a target, and every file includes what it uses. OFF
# suits editing one file again and again, and tools that want a compile command for each file.
option(DFSIM_UNITY "Compile the sources of a target in groups" ON)
# With 32, two cores take 225 s from nothing, with 16 they take 290 s; larger groups leave one of the two idle
# at the end.
set(DFSIM_UNITY_FILES 32 CACHE STRING "Files in a group of DFSIM_UNITY")

# Users of the installed libraries get this instead (dfsim::headers): include folder and language.
add_library(dfsim_headers INTERFACE)
target_compile_features(dfsim_headers INTERFACE cxx_std_20)
target_include_directories(dfsim_headers INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/dfsim>)

add_library(dfsim_options INTERFACE)
target_include_directories(dfsim_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_options(dfsim_options INTERFACE -Wall -Wextra -Werror)
if(DFSIM_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # It is about headers, and takes the files of a group for such.
  target_compile_options(dfsim_options INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # gcc 12 takes short strings for overlapping memory (gcc bug 105651, fixed in gcc 13).
  target_compile_options(dfsim_options INTERFACE -Wno-restrict)
endif()
if(DFSIM_SANITIZE)
  target_compile_options(dfsim_options INTERFACE -fsanitize=${DFSIM_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(dfsim_options INTERFACE -fsanitize=${DFSIM_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # The manual page: with sanitizers these warnings are often false (here inside std::regex).
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

# dfsim_unity(TARGET): groups its sources as DFSIM_UNITY says.
function(dfsim_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${DFSIM_UNITY}
                        UNITY_BUILD_BATCH_SIZE ${DFSIM_UNITY_FILES})
endfunction()

# dfsim_optimize(TARGET LEVEL): the compiler spends most of its time on optimising, so code whose speed
# users do not notice (options, rendering, tests) gets -O1, which takes a third less, and only the libraries
# that benchmarks measure get -O3. Build types without optimisation keep theirs.
function(dfsim_optimize target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O${level}>)
endfunction()

# FAST: a benchmark measures it. PLAIN: it has no loop that takes long.
function(dfsim_library name)
  cmake_parse_arguments(ARG "FAST;PLAIN" "" "DEPS;PRIVATE;HEADERS" ${ARGN})
  dfsim_sources(sources)
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC $<BUILD_INTERFACE:dfsim_options> dfsim_headers ${ARG_DEPS}
                                PRIVATE ${ARG_PRIVATE} "$<BUILD_INTERFACE:${ARG_HEADERS}>")
  # dfsim_graphs is dfsim::graphs to those who find_package(dfsim).
  string(REGEX REPLACE "^dfsim_" "" short_name ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short_name})
  set_property(GLOBAL APPEND PROPERTY DFSIM_LIBRARIES ${name})
  if(ARG_FAST)
    dfsim_optimize(${name} 3)
  elseif(ARG_PLAIN)
    dfsim_optimize(${name} 1)
  else()
    dfsim_optimize(${name} 2)
  endif()
  dfsim_unity(${name})
endfunction()

function(dfsim_test name)
  cmake_parse_arguments(ARG "" "" "DEPS;EXCLUDE" ${ARGN})
  dfsim_sources(sources ${ARG_EXCLUDE})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE dfsim_options dfsim_test_main ${ARG_DEPS})
  target_compile_definitions(${name} PRIVATE DFSIM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  dfsim_optimize(${name} 1)
  dfsim_unity(${name})
  add_test(NAME ${name} COMMAND ${name})
endfunction()
