# Target sluice::options: how every file of the project is compiled. Also the build-wide choices:
#
#   SLUICE_SANITIZE     "", address (with undefined behaviour) or thread
#   SLUICE_LTO          link-time optimisation
#   SLUICE_PRODUCT_DIR  its lib/ and bin/ get the products; default: the build folder

set(SLUICE_SANITIZE "" CACHE STRING "Sanitizer: empty, address (implies undefined) or thread")
set_property(CACHE SLUICE_SANITIZE PROPERTY STRINGS "" address thread)
option(SLUICE_LTO "Optimise at link time" OFF)
set(SLUICE_PRODUCT_DIR ${CMAKE_BINARY_DIR} CACHE PATH "Folder whose lib/ and bin/ get the products")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
# The project's own checks stay on in every build; NDEBUG only silences those of foreign headers.
foreach(_language C CXX)
  set(CMAKE_${_language}_FLAGS_RELWITHDEBINFO "-O2 -g")
  set(CMAKE_${_language}_FLAGS_RELEASE "-O2 -g -DNDEBUG")
endforeach()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_package(Threads REQUIRED)

find_program(SLUICE_CCACHE ccache DOC "Compiler cache; used if there")
if(SLUICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${SLUICE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SLUICE_CCACHE})
endif()

add_library(sluice_options INTERFACE)
add_library(sluice::options ALIAS sluice_options)
target_compile_options(sluice_options INTERFACE
  -Wall -Wextra -Wshadow -Wundef -Wvla -Werror
  # Option tables and system structures are filled by name; the rest is zero, and meant to be.
  -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
  $<$<COMPILE_LANGUAGE:CXX>:-Wsuggest-override>
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  # Stacks for sanitizers and profilers; Release goes without, as fio does: 8 functions an I/O.
  $<$<NOT:$<CONFIG:Release>>:-fno-omit-frame-pointer>
  -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
target_include_directories(sluice_options INTERFACE ${PROJECT_SOURCE_DIR})
target_link_libraries(sluice_options INTERFACE Threads::Threads)

if(SLUICE_SANITIZE STREQUAL "address")
  set(_sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(SLUICE_SANITIZE STREQUAL "thread")
  set(_sanitize -fsanitize=thread)
elseif(SLUICE_SANITIZE)
  message(FATAL_ERROR
    "SLUICE_SANITIZE=${SLUICE_SANITIZE}: use address, thread, or leave it empty.")
endif()
if(SLUICE_SANITIZE)
  # For the whole build, not only our targets: an object without it hides what others do.
  add_compile_options(${_sanitize})
  add_link_options(${_sanitize})
endif()

if(SLUICE_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(LANGUAGES C CXX)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  # At the link nothing is a system header any more: a false alarm within Boost.JSON.
  add_link_options(-Wno-stringop-overread)
endif()
