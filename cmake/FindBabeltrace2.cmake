# libbabeltrace2 as target Babeltrace2::Babeltrace2; it comes without a CMake package.
find_path(Babeltrace2_INCLUDE_DIR babeltrace2/babeltrace.h)
find_library(Babeltrace2_LIBRARY babeltrace2)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Babeltrace2
                                  REQUIRED_VARS Babeltrace2_LIBRARY Babeltrace2_INCLUDE_DIR)
if(Babeltrace2_FOUND AND NOT TARGET Babeltrace2::Babeltrace2)
  add_library(Babeltrace2::Babeltrace2 UNKNOWN IMPORTED)
  set_target_properties(Babeltrace2::Babeltrace2 PROPERTIES
    IMPORTED_LOCATION ${Babeltrace2_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Babeltrace2_INCLUDE_DIR})
endif()
