# Target sluice::boost_json: the headers of Boost.JSON, which is used header-only.
#
# One translation unit includes boost/json/src.hpp; the rest includes boost/json.hpp. The headers
# come from -DBOOST_JSON_INCLUDE_DIR=, else the system's, else build/deps/boost (ci/boost-json).

set(BOOST_JSON_INCLUDE_DIR "" CACHE PATH "Folder that holds boost/json.hpp; empty: search")

set(_boost_candidates ${BOOST_JSON_INCLUDE_DIR})
if(NOT _boost_candidates)
  set(_boost_candidates /usr/include /usr/local/include ${PROJECT_SOURCE_DIR}/build/deps/boost)
endif()

set(_boost_include "")
foreach(_candidate IN LISTS _boost_candidates)
  if(EXISTS ${_candidate}/boost/json/src.hpp)
    set(_boost_include ${_candidate})
    break()
  endif()
endforeach()
if(NOT _boost_include)
  list(JOIN _boost_candidates ", " _looked)
  message(FATAL_ERROR "No boost/json/src.hpp (Boost 1.75 or newer) in ${_looked}. "
    "Run ci/boost-json, or use -DBOOST_JSON_INCLUDE_DIR=.")
endif()
message(STATUS "Boost.JSON: ${_boost_include}")

add_library(sluice_boost_json INTERFACE)
add_library(sluice::boost_json ALIAS sluice_boost_json)
# The compiler's own folder must not be named, or the order of its folders changes.
if(NOT _boost_include STREQUAL "/usr/include")
  target_include_directories(sluice_boost_json SYSTEM INTERFACE ${_boost_include})
endif()
