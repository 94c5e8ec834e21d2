# dfsim_build_facts(SOURCE): compiles a source with the facts that `dfsim version` prints. The commit
# is that of the sources, "" outside a repository; CMake runs again after each commit.
function(dfsim_build_facts source)
  dfsim_commit_of_sources(commit)
  set(kind "${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  string(APPEND kind ", ${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR}")
  if(DFSIM_SANITIZE)
    string(APPEND kind ", sanitizers ${DFSIM_SANITIZE}")
  endif()
  set(libraries "ONNX ${ONNX_VERSION}" "protobuf ${Protobuf_VERSION}" "Boost ${Boost_VERSION_STRING}"
      "yaml-cpp ${yaml-cpp_VERSION}" "SQLite ${SQLite3_VERSION}" "zlib ${ZLIB_VERSION_STRING}")
  list(JOIN libraries ", " libraries)
  set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS
    "DFSIM_BUILD_COMMIT=\"${commit}\";DFSIM_BUILD_KIND=\"${kind}\";DFSIM_BUILD_LIBRARIES=\"${libraries}\"")
endfunction()

# dfsim_commit_of_sources(RESULT): "" also for a tree inside another project's repository.
function(dfsim_commit_of_sources result)
  set(${result} "" PARENT_SCOPE)
  find_package(Git QUIET)
  if(NOT Git_FOUND)
    return()
  endif()
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --show-toplevel --git-path logs/HEAD
                          --short=12 HEAD
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} ERROR_QUIET
                  OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" answer "${answer}")
  list(LENGTH answer lines)
  if(NOT lines EQUAL 3)
    return()
  endif()
  list(GET answer 0 top)
  if(NOT top STREQUAL PROJECT_SOURCE_DIR)
    return()
  endif()
  list(GET answer 1 log)
  cmake_path(ABSOLUTE_PATH log BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(EXISTS ${log})
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
  endif()
  list(GET answer 2 commit)
  set(${result} ${commit} PARENT_SCOPE)
endfunction()
