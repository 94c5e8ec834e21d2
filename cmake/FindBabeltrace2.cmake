# libbabeltrace2 as target Babeltrace2::Babeltrace2; it comes without a CMake package.
find_path(Babeltrace2_INCLUDE_DIR babeltrace2/babeltrace.h)
find_library(Babeltrace2_LIBRARY babeltrace2)
# The folder of its plugins, which the library loads at run time: the readers of CTF are plugins.
find_path(Babeltrace2_PLUGIN_DIR babeltrace-plugin-ctf.so
          PATH_SUFFIXES babeltrace2/plugins ${CMAKE_LIBRARY_ARCHITECTURE}/babeltrace2/plugins
          PATHS /usr/lib /usr/local/lib)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Babeltrace2
                                  REQUIRED_VARS Babeltrace2_LIBRARY Babeltrace2_INCLUDE_DIR)
if(Babeltrace2_FOUND AND NOT TARGET Babeltrace2::Babeltrace2)
  add_library(Babeltrace2::Babeltrace2 UNKNOWN IMPORTED)
  set_target_properties(Babeltrace2::Babeltrace2 PROPERTIES
    IMPORTED_LOCATION ${Babeltrace2_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Babeltrace2_INCLUDE_DIR})
endif()
