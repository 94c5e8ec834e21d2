# The linear programming library Clp as target Clp::Clp; Debian's package has no CMake files.
find_path(Clp_INCLUDE_DIR coin/Clp_C_Interface.h)
find_library(Clp_LIBRARY Clp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Clp REQUIRED_VARS Clp_LIBRARY Clp_INCLUDE_DIR)
if(Clp_FOUND AND NOT TARGET Clp::Clp)
  add_library(Clp::Clp UNKNOWN IMPORTED)
  set_target_properties(Clp::Clp PROPERTIES
    IMPORTED_LOCATION ${Clp_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Clp_INCLUDE_DIR})
endif()
