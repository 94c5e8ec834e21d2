# The XGBoost C library as target XGBoostC::XGBoostC. Debian's own xgboost-config.cmake stops the
# configuration when the command-line program (package xgboost) is absent, which dfsim doesn't need.
find_path(XGBoostC_INCLUDE_DIR xgboost/c_api.h)
find_library(XGBoostC_LIBRARY xgboost)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XGBoostC REQUIRED_VARS XGBoostC_LIBRARY XGBoostC_INCLUDE_DIR)
if(XGBoostC_FOUND AND NOT TARGET XGBoostC::XGBoostC)
  add_library(XGBoostC::XGBoostC UNKNOWN IMPORTED)
  set_target_properties(XGBoostC::XGBoostC PROPERTIES
    IMPORTED_LOCATION ${XGBoostC_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${XGBoostC_INCLUDE_DIR})
endif()
