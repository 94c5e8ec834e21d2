# dfsim_build_facts(INPUT OUTPUT): the facts that `dfsim version` prints, as a header. The commit is
# that of the sources, "" outside a repository; CMake runs again after each commit.
function(dfsim_build_facts input output)
  find_package(Git QUIET)
  set(dfsim_commit "")
  if(Git_FOUND)
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --show-toplevel --short=12 HEAD
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} ERROR_QUIET
                    OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REPLACE "\n" ";" answer "${answer}")
    list(LENGTH answer lines)
    # A tree that lies in another project's repository has no commit of its own.
    if(lines EQUAL 2)
      list(GET answer 0 top)
      if(top STREQUAL PROJECT_SOURCE_DIR)
        list(GET answer 1 dfsim_commit)
      endif()
    endif()
  endif()
  if(dfsim_commit)
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --git-path logs/HEAD
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} ERROR_QUIET
                    OUTPUT_VARIABLE log OUTPUT_STRIP_TRAILING_WHITESPACE)
    cmake_path(ABSOLUTE_PATH log BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    if(EXISTS ${log})
      set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
    endif()
  endif()
  set(dfsim_build_kind "${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  string(APPEND dfsim_build_kind ", ${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR}")
  if(DFSIM_SANITIZE)
    string(APPEND dfsim_build_kind ", sanitizers ${DFSIM_SANITIZE}")
  endif()
  set(libraries "ONNX ${ONNX_VERSION}" "protobuf ${Protobuf_VERSION}" "Boost ${Boost_VERSION_STRING}"
      "yaml-cpp ${yaml-cpp_VERSION}" "SQLite ${SQLite3_VERSION}" "zlib ${ZLIB_VERSION_STRING}")
  list(JOIN libraries ", " dfsim_build_libraries)
  configure_file(${input} ${output} @ONLY)
endfunction()
